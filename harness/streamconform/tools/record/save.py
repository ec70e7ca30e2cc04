"""Record an exchange and write its cassette and draft spec, or write nothing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamconform.errors import UsageError
from streamconform.model.cassette import Cassette
from streamconform.suite import cassettes
from streamconform.tools.record import draft
from streamconform.tools.record.exchange import RecordJob, check_for_secrets, record_exchange
from streamconform.yaml_text import reader


@dataclass(frozen=True, slots=True)
class SavedRecording:
    """The files written, and the number of values replaced in them."""

    cassette: Cassette
    metadata: Path
    spec: Path
    replaced: Mapping[str, int]
    """Kind to number of distinct values."""


def record_and_save(
    job: RecordJob, specs: Path, folder: Path, topic: str, on_chunk: Callable[[bytes], None] | None = None
) -> SavedRecording:
    """Record `job`, write its cassette under `folder` and append a draft case to `specs/<api>/<topic>.yaml`.

    Nothing is sent if the result could not be saved, and nothing is written before everything has been
    scanned for secrets.

    Raises:
        UsageError: the name is taken, or the bundled parser does not support the API.
        RecordError: see `record_exchange`.
        DraftRefused: no case can be appended to the spec.

    """
    # A request costs money and cannot be repeated exactly, so everything that can fail is checked first.
    _check_destination(job, specs, folder, topic)
    scrubbed = record_exchange(job, on_chunk)
    cassette = scrubbed.cassette
    title = f"{cassette.name}: describe in one line what this stream shows"
    content = [dataclasses.asdict(block) for block in draft.decode_cassette(cassette).content]
    text = draft.compose_spec(specs, cassette, topic, title)
    # A key that the model repeats is split over frames; only the decoded content has it in one piece.
    decoded = json.dumps(content, ensure_ascii=False, default=str).encode()
    check_for_secrets(job, {"decoded content": decoded})
    check_for_secrets(job, {"draft spec": text.encode()}, only_known=True)
    metadata = cassettes.save(folder, cassette)
    return SavedRecording(
        cassette, metadata, draft.append_draft(specs, cassette, topic, title), scrubbed.replaced
    )


def _check_destination(job: RecordJob, specs: Path, folder: Path, topic: str) -> None:
    from streamconform_reference import adapter

    if job.api not in adapter.apis:
        raise UsageError(
            f"cannot draft a case: the bundled parser does not support `{job.api}`; "
            f"supported: {', '.join(adapter.apis)}. Nothing was sent"
        )
    taken = sorted((folder / job.api).glob(f"{job.name}.*"))
    if taken:
        raise UsageError(f"`{taken[0]}` exists; pass another --name, or delete it first. Nothing was sent")
    path = specs / job.api / f"{topic}.yaml"
    if not path.exists():
        return
    spec = reader.read(path).value
    cases = spec.get("cases") if isinstance(spec, dict) else None
    for case in cases if isinstance(cases, list) else []:
        if isinstance(case, dict) and case.get("id") == job.name:
            raise UsageError(
                f"`{path}` already has a case `{job.name}`; pass another --name. Nothing was sent"
            )
