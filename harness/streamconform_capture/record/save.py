"""Write scanned cassettes with their draft cases: both, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamconform.conservation import Balance
from streamconform.errors import UsageError
from streamconform.files import write_atomically
from streamconform.model.cassette import Cassette
from streamconform.suite import cassettes
from streamconform.yaml_text import reader
from streamconform_capture.record import draft
from streamconform_capture.record.exchange import RecordJob, record_exchange
from streamconform_capture.record.scanned import Scanned, Unscanned, scan_for_writing


@dataclass(frozen=True, slots=True)
class SavedRecording:
    """The files written, and the number of values replaced in them."""

    cassette: Cassette
    metadata: Path
    spec: Path
    replaced: Mapping[str, int]
    """The number of distinct values, by kind."""
    balance: Balance
    """The bytes that arrived, and those in the files."""


@dataclass(frozen=True, slots=True)
class Destination:
    """The paths of a cassette and its case."""

    specs: Path
    folder: Path
    """The folder of the cassettes."""
    topic: str


def save_new(
    cassette: Cassette,
    title: str,
    to: Destination,
    *,
    secrets: tuple[bytes, ...],
    allowed: tuple[str, ...] = (),
    refuse_random_words: bool = True,
) -> tuple[Path, Path, Scanned]:
    """Write a cassette, and a draft case unless the spec has one by that name; return both paths.

    Raises:
        SecretsLeft: the scan found something in the cassette or the draft; nothing is written.
        DraftRefused: no case can be appended to the spec.

    """
    unscanned = Unscanned(
        cassette=cassette,
        text=draft.format_case(cassette, title),
        where=cassette.request.path,
        secrets=secrets,
    )
    (scanned,) = scan_for_writing([unscanned], allowed, refuse_random_words=refuse_random_words)
    spec = draft.find_spec(to.specs, cassette, to.topic)
    if cassette.name in draft.list_cases(spec):
        return save_cassette(to.folder, scanned), spec, scanned
    draft.add_case(to.specs, cassette, to.topic, scanned.text)  # raises before anything is written
    return save_cassette(to.folder, scanned), append_case(to.specs, scanned, to.topic), scanned


def record_and_save(
    job: RecordJob, specs: Path, folder: Path, topic: str, on_chunk: Callable[[bytes], None] | None = None
) -> SavedRecording:
    """Record `job`, write its cassette under `folder` and append a draft case to `specs/<api>/<topic>.yaml`.

    Nothing is sent if the result could not be saved, and nothing is written before everything has been
    scanned for secrets.

    Raises:
        UsageError: the name is taken, or the bundled parser does not support the API.
        RecordError: see `record_exchange`, and `scan_for_writing`.
        DraftRefused: no case can be appended to the spec.

    """
    # A request costs money and cannot be repeated exactly, so everything that can fail is checked first.
    _check_destination(job, specs, folder, topic)
    scrubbed = record_exchange(job, on_chunk)
    cassette = scrubbed.cassette
    title = f"{cassette.name}: describe in one line what this stream shows"
    destination = Destination(specs, folder, topic)
    metadata, spec, _ = save_new(cassette, title, destination, secrets=job.secrets, allowed=job.allowed)
    balance = Balance("byte", "received", scrubbed.received, {"saved": measure_saved(metadata, cassette)})
    return SavedRecording(cassette, metadata, spec, scrubbed.replaced, balance)


def save_cassette(folder: Path, scanned: Scanned) -> Path:
    """Write the cassette under `folder` and return the path of its YAML file."""
    return cassettes.save(folder, scanned.cassette)


def measure_saved(metadata: Path, cassette: Cassette) -> int:
    """Return the size of the files of the answer and of its twin, next to the YAML file `metadata`."""
    suffixes = [cassette.suffix, *([] if cassette.twin is None else ["twin.json"])]
    return sum(metadata.with_suffix(f".{suffix}").stat().st_size for suffix in suffixes)


def append_case(specs: Path, scanned: Scanned, topic: str) -> Path:
    """Append the draft case to `specs/<api>/<topic>.yaml` and return that path.

    Raises:
        DraftRefused: the spec already has a case with the cassette's name, or no case can be appended.

    """
    text = draft.add_case(specs, scanned.cassette, topic, scanned.text)
    path = draft.find_spec(specs, scanned.cassette, topic)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())
    return path


def write_spec(path: Path, scanned: Scanned) -> None:
    """Write the draft, which is a complete spec, to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, scanned.text.encode())


def _check_destination(job: RecordJob, specs: Path, folder: Path, topic: str) -> None:
    from streamconform_reference import adapter

    if job.api not in adapter.apis:
        raise UsageError(
            f"cannot draft a case: the bundled parser does not support `{job.api}`; "
            f"supported: {', '.join(adapter.apis)}. Nothing was sent"
        )
    taken = sorted((folder / job.api).glob(f"{job.name}.*"))
    if taken:
        raise UsageError(
            f"`{taken[0]}` already exists; pass another --name, or delete it first. Nothing was sent"
        )
    path = specs / job.api / f"{topic}.yaml"
    if not path.exists():
        return
    # Parsed but not validated, so the document may have any form.
    spec = reader.read(path).value
    cases = spec.get("cases") if isinstance(spec, dict) else None
    for case in cases if isinstance(cases, list) else []:
        if isinstance(case, dict) and case.get("id") == job.name:
            raise UsageError(
                f"`{path}` already has a case `{job.name}`; pass another --name. Nothing was sent"
            )
