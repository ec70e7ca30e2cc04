"""From an order to files: the cassette and its draft spec, or nothing at all."""

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
from streamconform.tools.record.exchange import Order, exchange, look
from streamconform.yaml_text import reader


@dataclass(frozen=True, slots=True)
class Kept:
    """What was written, and what was replaced in it."""

    cassette: Cassette
    metadata: Path
    spec: Path
    replaced: Mapping[str, int]


def keep(
    order: Order, specs: Path, folder: Path, topic: str, on_chunk: Callable[[bytes], None] | None = None
) -> Kept:
    """Record `order`, and write its cassette under `folder` and a draft case into `specs/<api>/<topic>.yaml`.

    Nothing is sent where the result could not be kept, and nothing is written before everything is known
    to be free of secrets.

    Raises:
        UsageError: the name is taken, or the bundled parser does not read the api.
        RecordError: as `exchange` does.
        DraftRefused: no case can be appended to the spec.

    """
    _refuse_what_cannot_be_kept(order, specs, folder, topic)
    exchanged = exchange(order, on_chunk)
    cassette = exchanged.cassette
    title = f"{cassette.name}: say in one line what this stream shows"
    content = [dataclasses.asdict(block) for block in draft.outcome(cassette).content]
    text = draft.composed(specs, cassette, topic, title)
    # A key that the model repeats comes in pieces, one a frame; here they are one text again.
    look(order, {"answer, put together": json.dumps(content, ensure_ascii=False, default=str).encode()})
    look(order, {"draft spec": text.encode()}, only_known=True)
    metadata = cassettes.save(folder, cassette)
    return Kept(cassette, metadata, draft.add(specs, cassette, topic, title), exchanged.replaced)


def _refuse_what_cannot_be_kept(order: Order, specs: Path, folder: Path, topic: str) -> None:
    from streamconform_reference import adapter

    if order.api not in adapter.apis:
        raise UsageError(
            f"the bundled parser does not read `{order.api}`, so no draft can be made of it; "
            f"known: {', '.join(adapter.apis)}. Nothing was sent"
        )
    taken = sorted((folder / order.api).glob(f"{order.name}.*"))
    if taken:
        raise UsageError(f"`{taken[0]}` exists; give another --name, or delete it first. Nothing was sent")
    path = specs / order.api / f"{topic}.yaml"
    if not path.exists():
        return
    spec = reader.read(path).value
    cases = spec.get("cases") if isinstance(spec, dict) else None
    for case in cases if isinstance(cases, list) else []:
        if isinstance(case, dict) and case.get("id") == order.name:
            raise UsageError(f"`{path}` has a case `{order.name}`; give another --name. Nothing was sent")
