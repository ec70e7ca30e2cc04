"""The texts in a stream's payloads: which fragments are one, and other texts put there. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamconform.apis.payloads import read_payload
from streamconform.tools.minimise.edits import (
    Path,
    edit_members,
    is_string,
    leaves,
    literal,
    nodes,
    quoted,
    shape,
    string,
    units,
)
from streamconform.tools.minimise.fields import FREE, OF_TOOLS
from streamconform.tools.minimise.stream import SplitStream

Place = tuple[int, Path]
"""A piece, and where in its payload."""

VOLATILE: Final = frozenset({"sequence_number", "obfuscation", "p", "created_at", "generation_id"})
"""Members that differ from frame to frame and say nothing of what the frame is."""
CALLED_WITH: Final = OF_TOOLS | {"partial_json", "delta"}
"""Members whose text, alone or with that of other fragments, may be what a tool is called with."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The JSON that a tool is called with, wherever it stands: as an object, or as text in fragments."""

    text: bytes
    objects: tuple[Place, ...]
    fragments: tuple[tuple[Place, ...], ...]
    """The places that say it as text; each is a list of the fragments that make it up."""

    def put(self, stream: SplitStream, text: bytes) -> SplitStream:
        """Return `stream` with `text` in its place, cut into as many fragments of equal length."""
        changes: dict[int, dict[Path, bytes | None]] = {}
        for i, path in self.objects:
            changes.setdefault(i, {})[path] = text
        whole = text.decode("utf-8", "surrogatepass")
        for places in self.fragments:
            count = len(places)
            for n, (i, path) in enumerate(places):
                part = whole[len(whole) * n // count : len(whole) * (n + 1) // count]
                payload = stream.pieces[i].payload or b""
                node = nodes(payload)[path]
                changes.setdefault(i, {})[path] = literal(part, payload[node.start : node.end])
        return stream.changed(changes)


def calls(stream: SplitStream) -> tuple[Slot, ...]:
    """Return what tools are called with in `stream`, each value once, the longest first."""
    objects: dict[bytes, list[Place]] = {}
    groups: dict[object, list[Place]] = {}
    for i, payload, path, start, end in _values(stream):
        raw = payload[start:end]
        if raw[:1] == b"{" and path[-1] in OF_TOOLS:
            objects.setdefault(raw, []).append((i, path))
        elif raw[:1] == b'"' and path[-1] in CALLED_WITH:
            groups.setdefault((_kind(payload), path), []).append((i, path))
    texts: dict[bytes, list[tuple[Place, ...]]] = {}
    for places in groups.values():
        text = "".join(_text(stream, each) for each in places)
        if isinstance(_loaded(text), dict):
            texts.setdefault(text.encode("utf-8", "surrogatepass"), []).append(tuple(places))
    found = [
        Slot(text, tuple(objects.get(text, ())), tuple(texts.get(text, ()))) for text in {**objects, **texts}
    ]
    return tuple(sorted((each for each in found if each.text != b"{}"), key=lambda each: -len(each.text)))


def texts(stream: SplitStream) -> tuple[bytes, ...]:
    """Return the free texts of more than one character, as they are written, each once, the longest first."""
    called = {place for slot in calls(stream) for places in slot.fragments for place in places}
    found = {
        payload[start:end]: None
        for i, payload, path, start, end in _values(stream)
        if payload[start : start + 1] == b'"' and path[-1] in FREE and (i, path) not in called
    }
    return tuple(sorted((each for each in found if len(characters(each)) > 1), key=lambda each: -len(each)))


def characters(text: bytes) -> tuple[bytes, ...]:
    """Return the characters of a string as they are written."""
    return of(b"[" + text + b"]", (0,))


def of(text: bytes, path: Path) -> tuple[bytes, ...]:
    """Return the characters of the string at `path`, as they are written; nothing where none is there."""
    node = nodes(text).get(path)
    return units(text, node) if node is not None and is_string(text, node) else ()


def with_text(stream: SplitStream, text: bytes, kept: Sequence[bytes]) -> SplitStream:
    """Return `stream` with a free text replaced by these characters, everywhere it stands."""
    changes: dict[int, dict[Path, bytes | None]] = {}
    for i, payload, path, start, end in _values(stream):
        if path[-1] in FREE and payload[start:end] == text:
            changes.setdefault(i, {})[path] = quoted(kept)
    return stream.changed(changes)


def joinable(stream: SplitStream, first: int) -> Iterator[tuple[int, bytes]]:
    """Yield the next piece that repeats the piece `first` but for one text, and the payload of both.

    It may repeat only a part of it: the start of a call has a name, its fragments have none.
    """
    payload = stream.pieces[first].payload
    if payload is None or not (said := read_payload(payload)):
        return
    own = dict(leaves(_lasting(said)))
    free = [path for path, value in own.items() if isinstance(value, str) and path[-1] in FREE]
    for i in range(first + 1, len(stream.pieces)):
        other = stream.pieces[i].payload
        if other is None:
            continue
        others = dict(leaves(_lasting(read_payload(other))))
        shared = [path for path in free if isinstance(others.get(path), str)]
        differ = [path for path, value in others.items() if path not in own or own[path] != value]
        if not shared or len(differ) > 1 or not {*differ} <= {*shared}:
            continue
        path = (differ or shared)[0]
        both = of(payload, path) + of(other, path)
        yield i, edit_members(payload, {path: quoted(both)})
        return


def _values(stream: SplitStream) -> Iterator[tuple[int, bytes, Path, int, int]]:
    for i, piece in enumerate(stream.pieces):
        if piece.payload is not None:
            for path, node in nodes(piece.payload).items():
                yield i, piece.payload, path, node.start, node.end


def _text(stream: SplitStream, place: Place) -> str:
    i, path = place
    payload = stream.pieces[i].payload or b""
    return string(payload, nodes(payload)[path])


def _kind(payload: bytes) -> object:
    return shape(_lasting(read_payload(payload)))[0]


def _lasting(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name not in VOLATILE}


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
