"""Find the texts in a stream's payloads, join their fragments, and replace them. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamconform.apis.payloads import read_payload
from streamconform_capture.minimise.edits import (
    Path,
    edit_members,
    find_nodes,
    is_string,
    iter_leaves,
    quote_characters,
    read_string,
    split_characters,
    split_shape,
    write_string,
)
from streamconform_capture.minimise.fields import FREE_TEXT, TOOL_DATA
from streamconform_capture.minimise.stream import SplitStream

Place = tuple[int, Path]
"""The index of a piece, and a path in its payload."""

VOLATILE: Final = frozenset({"sequence_number", "obfuscation", "p", "created_at", "generation_id"})
"""Members that differ between otherwise equal frames."""
ARGUMENT_TEXT: Final = TOOL_DATA | {"partial_json", "delta"}
"""Members whose text, alone or joined with other fragments, may be the arguments of a call."""


@dataclass(frozen=True, slots=True)
class ArgumentsSlot:
    """A call's arguments, and every place that contains them, as an object or as fragments of text."""

    text: bytes
    objects: tuple[Place, ...]
    fragments: tuple[tuple[Place, ...], ...]
    """Where the text occurs; each item lists the fragments of one occurrence."""

    def replace(self, stream: SplitStream, text: bytes) -> SplitStream:
        """Return `stream` with `text` as the arguments, divided equally among the existing fragments."""
        changes: dict[int, dict[Path, bytes | None]] = {}
        for i, path in self.objects:
            changes.setdefault(i, {})[path] = text
        # Arguments joined from fragments may contain half of a surrogate pair.
        whole = text.decode("utf-8", "surrogatepass")
        for places in self.fragments:
            count = len(places)
            for n, (i, path) in enumerate(places):
                part = whole[len(whole) * n // count : len(whole) * (n + 1) // count]
                payload = stream.pieces[i].payload or b""
                node = find_nodes(payload)[path]
                changes.setdefault(i, {})[path] = write_string(part, payload[node.start : node.end])
        return stream.with_changes(changes)


def find_call_arguments(stream: SplitStream) -> tuple[ArgumentsSlot, ...]:
    """Return the arguments of the calls in `stream`, without duplicates, longest first."""
    objects: dict[bytes, list[Place]] = {}
    groups: dict[object, list[Place]] = {}
    for i, payload, path, start, end in _iter_values(stream):
        raw = payload[start:end]
        if raw[:1] == b"{" and path[-1] in TOOL_DATA:
            objects.setdefault(raw, []).append((i, path))
        elif raw[:1] == b'"' and path[-1] in ARGUMENT_TEXT:
            # Fragments of one text have the same path, in payloads that differ only in their strings.
            groups.setdefault((_make_kind(payload), path), []).append((i, path))
    texts: dict[bytes, list[tuple[Place, ...]]] = {}
    for places in groups.values():
        text = "".join(_read_text(stream, place) for place in places)
        if isinstance(_parse_json(text), dict):
            texts.setdefault(text.encode("utf-8", "surrogatepass"), []).append(tuple(places))
    slots = [
        ArgumentsSlot(text, tuple(objects.get(text, ())), tuple(texts.get(text, ())))
        for text in {**objects, **texts}
    ]
    return tuple(sorted((slot for slot in slots if slot.text != b"{}"), key=lambda slot: -len(slot.text)))


def find_free_texts(stream: SplitStream) -> tuple[bytes, ...]:
    """Return the source of every free text longer than one character, without duplicates, longest first."""
    arguments = {
        place for slot in find_call_arguments(stream) for places in slot.fragments for place in places
    }
    free_texts = {
        payload[start:end]: None
        for i, payload, path, start, end in _iter_values(stream)
        if payload[start : start + 1] == b'"' and path[-1] in FREE_TEXT and (i, path) not in arguments
    }
    return tuple(
        sorted((text for text in free_texts if len(list_characters(text)) > 1), key=lambda text: -len(text))
    )


def list_characters(text: bytes) -> tuple[bytes, ...]:
    """Return the source of each character of a JSON string."""
    # In an array, because `find_nodes` returns only values below the root.
    return list_characters_at(b"[" + text + b"]", (0,))


def list_characters_at(text: bytes, path: Path) -> tuple[bytes, ...]:
    """Return the source of each character of the string at `path`; empty if there is no string."""
    node = find_nodes(text).get(path)
    return split_characters(text, node) if node is not None and is_string(text, node) else ()


def replace_text(stream: SplitStream, text: bytes, kept: Sequence[bytes]) -> SplitStream:
    """Return `stream` with every occurrence of a free text replaced by these characters."""
    changes: dict[int, dict[Path, bytes | None]] = {}
    for i, payload, path, start, end in _iter_values(stream):
        if path[-1] in FREE_TEXT and payload[start:end] == text:
            changes.setdefault(i, {})[path] = quote_characters(kept)
    return stream.with_changes(changes)


def find_joinable(stream: SplitStream, first: int) -> Iterator[tuple[int, bytes]]:
    """Yield the next piece that differs from piece `first` in only one text, with their joined payload.

    It may lack some of the first piece's members: the start of a call has a name, but later fragments do not.
    """
    payload = stream.pieces[first].payload
    if payload is None or not (document := read_payload(payload)):
        return
    own = dict(iter_leaves(_drop_volatile(document)))
    free = [path for path, value in own.items() if isinstance(value, str) and path[-1] in FREE_TEXT]
    for i in range(first + 1, len(stream.pieces)):
        other = stream.pieces[i].payload
        if other is None:
            continue
        others = dict(iter_leaves(_drop_volatile(read_payload(other))))
        shared = [path for path in free if isinstance(others.get(path), str)]
        differ = [path for path, value in others.items() if path not in own or own[path] != value]
        if not shared or len(differ) > 1 or not {*differ} <= {*shared}:
            continue
        path = (differ or shared)[0]
        both = list_characters_at(payload, path) + list_characters_at(other, path)
        yield i, edit_members(payload, {path: quote_characters(both)})
        return


def _iter_values(stream: SplitStream) -> Iterator[tuple[int, bytes, Path, int, int]]:
    for i, piece in enumerate(stream.pieces):
        if piece.payload is not None:
            for path, node in find_nodes(piece.payload).items():
                yield i, piece.payload, path, node.start, node.end


def _read_text(stream: SplitStream, place: Place) -> str:
    i, path = place
    payload = stream.pieces[i].payload or b""
    return read_string(payload, find_nodes(payload)[path])


def _make_kind(payload: bytes) -> object:
    return split_shape(_drop_volatile(read_payload(payload)))[0]


def _drop_volatile(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in VOLATILE}


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
