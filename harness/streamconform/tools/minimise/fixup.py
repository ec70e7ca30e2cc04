"""What follows from what was left out: numbers that count, and places that say a text again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.tools.minimise.edits import Path, is_string, literal, nodes, string
from streamconform.tools.minimise.fields import INDICES
from streamconform.tools.minimise.stream import Stream
from streamconform.wire.endings import read

SEQUENCE: Final = ("sequence_number",)
DELTAS: Final[Mapping[str, tuple[str, str]]] = {
    "response.output_text.delta": ("content", "text"),
    "response.refusal.delta": ("content", "refusal"),
    "response.reasoning_text.delta": ("content", "text"),
    "response.reasoning_summary_text.delta": ("summary", "text"),
    "response.function_call_arguments.delta": ("", "arguments"),
    "response.custom_tool_call_input.delta": ("", "input"),
}
"""Of openai-responses: where in its item the text of a delta stands again when it is whole."""


def followed(api: str, before: Stream, after: Stream) -> Stream:
    """Return `after`, made from `before`, with the numbers and texts that its other frames imply.

    Blocks, calls and sequence numbers that were counted from the first one on are counted so again. In
    openai-responses, whole texts that were the sum of their deltas are that sum again, and the final output
    has the items that are left.
    """
    if api == "openai-responses":
        after = _with_items_left(before, after)
        after = _with_sums(before, after)
    if api in INDICES:
        after = _counted(before, after, INDICES[api])
    return _in_sequence(before, after)


def index(api: str, payload: bytes) -> Any:
    """Return the number of the block or call that a payload belongs to; None where it names none."""
    return _at(read(payload), INDICES[api]) if api in INDICES else None


def _counted(before: Stream, after: Stream, path: Path) -> Stream:
    """Return `after` with the numbers at `path` counted from 0, in the order in which they come."""
    was = [*dict.fromkeys(number for _, number in _numbers(before, path))]
    now = [*dict.fromkeys(number for _, number in _numbers(after, path))]
    if was != list(range(len(was))) or now == list(range(len(now))):
        return after
    new = {number: str(i).encode() for i, number in enumerate(now)}
    return after.changed({i: {path: new[number]} for i, number in _numbers(after, path)})


def _in_sequence(before: Stream, after: Stream) -> Stream:
    was = [number for _, number in _numbers(before, SEQUENCE)]
    if not was or was != list(range(was[0], was[0] + len(was))):
        return after
    numbers = enumerate(_numbers(after, SEQUENCE), start=was[0])
    return after.changed({i: {SEQUENCE: str(n).encode()} for n, (i, old) in numbers if n != old})


def _with_items_left(before: Stream, after: Stream) -> Stream:
    """Return `after` without the items of the final output none of whose frames is left."""
    had = {number for _, number in _numbers(before, ("output_index",))}
    gone = had - {number for _, number in _numbers(after, ("output_index",))}
    return after.changed(
        {
            i: {path: None for n in gone if (path := ("response", "output", n)) in nodes(payload)}
            for i, payload in _payloads(after)
        },
    )


def _with_sums(before: Stream, after: Stream) -> Stream:
    """Return `after` with each whole text that was the sum of its deltas as the sum of what is left."""
    was, now = _sums(before), _sums(after)
    changes: dict[int, dict[Path, bytes | None]] = {}
    for i, payload in _payloads(after):
        said = read(payload)
        for key, places in _places(said, [key for key in was if key in now and was[key] != now[key]]).items():
            for path in places:
                node = nodes(payload).get(path)
                if node is not None and is_string(payload, node) and string(payload, node) == was[key]:
                    old = payload[node.start : node.end]
                    changes.setdefault(i, {})[path] = literal(now[key], old)
    return after.changed(changes)


Key = tuple[str, str, Any, Any]
"""The list in an item and the member in which a text stands, the item's number and the part's."""


def _sums(stream: Stream) -> dict[Key, str]:
    found: dict[Key, str] = {}
    for _, payload in _payloads(stream):
        said = read(payload)
        place = DELTAS.get(str(said.get("type")))
        delta = said.get("delta")
        if place is not None and isinstance(delta, str):
            part = said.get("content_index", said.get("summary_index")) if place[0] else None
            key = (*place, said.get("output_index"), part)
            found[key] = found.get(key, "") + delta
    return found


def _places(said: Mapping[str, Any], keys: Sequence[Key]) -> dict[Key, list[Path]]:
    """Return where a payload can say each of these texts as a whole."""
    found: dict[Key, list[Path]] = {}
    own = said.get("output_index")
    part = said.get("content_index", said.get("summary_index"))
    for key in keys:
        group, name, item, number = key
        inside: Path = (group, number, name) if group else (name,)
        paths: list[Path] = [("response", "output", item, *inside)]
        if own == item:
            paths.append(("item", *inside))
            if not group or part == number:
                paths += [(name,), ("part", name)]
        found[key] = paths
    return found


def _numbers(stream: Stream, path: Path) -> list[tuple[int, int]]:
    """Return (piece, number) for each payload that has a whole number at `path`."""
    found = ((i, _at(read(payload), path)) for i, payload in _payloads(stream))
    return [(i, number) for i, number in found if isinstance(number, int) and not isinstance(number, bool)]


def _payloads(stream: Stream) -> Iterator[tuple[int, bytes]]:
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
