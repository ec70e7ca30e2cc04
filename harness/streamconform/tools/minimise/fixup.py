"""What follows from a deletion: renumbering, and text that is repeated as a whole. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.api import Reducing, RepeatedText
from streamconform.apis.payloads import read_payload
from streamconform.tools.minimise.edits import Path, is_string, literal, nodes, string
from streamconform.tools.minimise.stream import SplitStream

SEQUENCE: Final = ("sequence_number",)


def fix_up(api: str, before: SplitStream, after: SplitStream) -> SplitStream:
    """Return `after`, made from `before`, with the numbers and texts that its other frames imply.

    Blocks, calls and sequence numbers that were counted from the first one on are counted so again. Whole
    texts that were the sum of their deltas are that sum again, and the terminal event repeats the items that
    are left.
    """
    reducing = APIS[api].reducing
    if reducing.final_items:
        after = _drop_removed_items(before, after, reducing)
    if reducing.repeated:
        after = _reaggregate(before, after, reducing)
    if reducing.block_index:
        after = _renumber(before, after, reducing.block_index)
    return _renumber_events(before, after)


def index(api: str, payload: bytes) -> Any:
    """Return the number of the block or call that a payload belongs to; None where it names none."""
    path = APIS[api].reducing.block_index
    return _at(read_payload(payload), path) if path else None


def _renumber(before: SplitStream, after: SplitStream, path: Path) -> SplitStream:
    """Return `after` with the numbers at `path` counted from 0, in the order in which they come."""
    was = [*dict.fromkeys(number for _, number in _numbers(before, path))]
    now = [*dict.fromkeys(number for _, number in _numbers(after, path))]
    if was != list(range(len(was))) or now == list(range(len(now))):
        return after
    new = {number: str(i).encode() for i, number in enumerate(now)}
    return after.changed({i: {path: new[number]} for i, number in _numbers(after, path)})


def _renumber_events(before: SplitStream, after: SplitStream) -> SplitStream:
    was = [number for _, number in _numbers(before, SEQUENCE)]
    if not was or was != list(range(was[0], was[0] + len(was))):
        return after
    numbers = enumerate(_numbers(after, SEQUENCE), start=was[0])
    return after.changed({i: {SEQUENCE: str(n).encode()} for n, (i, old) in numbers if n != old})


def _drop_removed_items(before: SplitStream, after: SplitStream, reducing: Reducing) -> SplitStream:
    """Return `after` without the repeated items none of whose frames is left."""
    had = {number for _, number in _numbers(before, reducing.block_index)}
    gone = had - {number for _, number in _numbers(after, reducing.block_index)}
    items: list[Path] = [(*reducing.final_items, number) for number in gone]
    return after.changed(
        {i: {path: None for path in items if path in nodes(payload)} for i, payload in _payloads(after)},
    )


def _reaggregate(before: SplitStream, after: SplitStream, reducing: Reducing) -> SplitStream:
    """Return `after` with each whole text that was the sum of its deltas as the sum of what is left."""
    was, now = _aggregate_texts(before, reducing), _aggregate_texts(after, reducing)
    changes: dict[int, dict[Path, bytes | None]] = {}
    for i, payload in _payloads(after):
        said = read_payload(payload)
        changed = [key for key in was if key in now and was[key] != now[key]]
        for key, places in _find_positions(said, changed, reducing).items():
            for path in places:
                node = nodes(payload).get(path)
                if node is not None and is_string(payload, node) and string(payload, node) == was[key]:
                    old = payload[node.start : node.end]
                    changes.setdefault(i, {})[path] = literal(now[key], old)
    return after.changed(changes)


Key = tuple[RepeatedText, Any, Any]
"""Where a text is repeated in its item, the item's number and the part's."""


def _aggregate_texts(stream: SplitStream, reducing: Reducing) -> dict[Key, str]:
    found: dict[Key, str] = {}
    for _, payload in _payloads(stream):
        said = read_payload(payload)
        place = reducing.repeated.get(str(said.get("type")))
        delta = said.get("delta")
        if place is not None and isinstance(delta, str):
            part = _part(said) if place.parts else None
            key = (place, _at(said, reducing.block_index), part)
            found[key] = found.get(key, "") + delta
    return found


def _find_positions(
    said: Mapping[str, Any], keys: Sequence[Key], reducing: Reducing
) -> dict[Key, list[Path]]:
    """Return where a payload can say each of these texts as a whole."""
    found: dict[Key, list[Path]] = {}
    own, part = _at(said, reducing.block_index), _part(said)
    for key in keys:
        repeated, item, number = key
        name = repeated.member
        inside: Path = (repeated.parts, number, name) if repeated.parts else (name,)
        paths: list[Path] = [(*reducing.final_items, item, *inside)]
        if own == item:
            paths.append(("item", *inside))
            if not repeated.parts or part == number:
                paths += [(name,), ("part", name)]
        found[key] = paths
    return found


def _part(said: Mapping[str, Any]) -> Any:
    """Return the number of the part that a payload belongs to."""
    return said.get("content_index", said.get("summary_index"))


def _numbers(stream: SplitStream, path: Path) -> list[tuple[int, int]]:
    """Return (piece, number) for each payload that has a whole number at `path`."""
    found = ((i, _at(read_payload(payload), path)) for i, payload in _payloads(stream))
    return [(i, number) for i, number in found if isinstance(number, int) and not isinstance(number, bool)]


def _payloads(stream: SplitStream) -> Iterator[tuple[int, bytes]]:
    for i, piece in enumerate(stream.pieces):
        if piece.payload is not None:
            yield i, piece.payload


def _at(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value
