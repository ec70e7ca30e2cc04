"""Fix up a stream after a deletion: renumber items and update aggregated text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.api import Reducing, RepeatedText
from streamconform.apis.payloads import read_payload
from streamconform_capture.minimise.edits import Path, find_nodes, is_string, read_string, write_string
from streamconform_capture.minimise.stream import SplitStream

SEQUENCE: Final = ("sequence_number",)


def fix_up(api: str, before: SplitStream, after: SplitStream) -> SplitStream:
    """Return `after`, which was derived from `before`, with consistent numbers and texts.

    Blocks, calls and sequence numbers that were consecutive are renumbered. A text that equalled its joined
    deltas is rebuilt from the remaining deltas, and the terminal event repeats only the remaining items.
    """
    reducing = APIS[api].reducing
    if reducing.final_items:
        after = _drop_removed_items(before, after, reducing)
    if reducing.repeated:
        after = _reaggregate(before, after, reducing)
    # Last, because the steps above match the blocks of both streams by their original indices.
    if reducing.block_index:
        after = _renumber(before, after, reducing.block_index)
    return _renumber_events(before, after)


def find_block_index(api: str, payload: bytes) -> Any:
    """Return the index of the payload's block or call, or None."""
    path = APIS[api].reducing.block_index
    return _get_at(read_payload(payload), path) if path else None


def _renumber(before: SplitStream, after: SplitStream, path: Path) -> SplitStream:
    """Return `after` with the numbers at `path` counted from 0, in order of appearance."""
    old_numbers = [*dict.fromkeys(number for _, number in _list_numbers(before, path))]
    numbers = [*dict.fromkeys(number for _, number in _list_numbers(after, path))]
    # Wrong numbers may be the cause of the failure, so only consecutive ones are renumbered.
    if old_numbers != list(range(len(old_numbers))) or numbers == list(range(len(numbers))):
        return after
    new_texts = {number: str(i).encode() for i, number in enumerate(numbers)}
    return after.with_changes({i: {path: new_texts[number]} for i, number in _list_numbers(after, path)})


def _renumber_events(before: SplitStream, after: SplitStream) -> SplitStream:
    old_numbers = [number for _, number in _list_numbers(before, SEQUENCE)]
    if not old_numbers or old_numbers != list(range(old_numbers[0], old_numbers[0] + len(old_numbers))):
        return after
    numbers = enumerate(_list_numbers(after, SEQUENCE), start=old_numbers[0])
    return after.with_changes({i: {SEQUENCE: str(n).encode()} for n, (i, old) in numbers if n != old})


def _drop_removed_items(before: SplitStream, after: SplitStream, reducing: Reducing) -> SplitStream:
    """Return `after` without repeated items whose own frames are all gone."""
    old_numbers = {number for _, number in _list_numbers(before, reducing.block_index)}
    removed = old_numbers - {number for _, number in _list_numbers(after, reducing.block_index)}
    items: list[Path] = [(*reducing.final_items, number) for number in removed]
    return after.with_changes(
        {
            i: {path: None for path in items if path in find_nodes(payload)}
            for i, payload in _iter_payloads(after)
        },
    )


def _reaggregate(before: SplitStream, after: SplitStream, reducing: Reducing) -> SplitStream:
    """Return `after`, with each text that equalled its joined deltas rebuilt from those that remain."""
    old_texts, texts = _aggregate_texts(before, reducing), _aggregate_texts(after, reducing)
    changes: dict[int, dict[Path, bytes | None]] = {}
    for i, payload in _iter_payloads(after):
        document = read_payload(payload)
        changed_keys = [key for key in old_texts if key in texts and old_texts[key] != texts[key]]
        for key, paths in _find_positions(document, changed_keys, reducing).items():
            for path in paths:
                node = find_nodes(payload).get(path)
                if node is None or not is_string(payload, node):
                    continue
                if read_string(payload, node) == old_texts[key]:
                    source = payload[node.start : node.end]
                    changes.setdefault(i, {})[path] = write_string(texts[key], source)
    return after.with_changes(changes)


TextKey = tuple[RepeatedText, Any, Any]
"""The path of a repeated text in its item, the index of the item, and the index of the part."""


def _aggregate_texts(stream: SplitStream, reducing: Reducing) -> dict[TextKey, str]:
    texts: dict[TextKey, str] = {}
    for _, payload in _iter_payloads(stream):
        document = read_payload(payload)
        place = reducing.repeated.get(str(document.get("type")))
        delta = document.get("delta")
        if place is not None and isinstance(delta, str):
            part = _get_part_index(document) if place.parts else None
            key = (place, _get_at(document, reducing.block_index), part)
            texts[key] = texts.get(key, "") + delta
    return texts


def _find_positions(
    document: Mapping[str, Any], keys: Sequence[TextKey], reducing: Reducing
) -> dict[TextKey, list[Path]]:
    """Return the paths where a payload may repeat each of these texts."""
    positions: dict[TextKey, list[Path]] = {}
    own_index, part = _get_at(document, reducing.block_index), _get_part_index(document)
    for key in keys:
        repeated, item, number = key
        name = repeated.member
        inside: Path = (repeated.parts, number, name) if repeated.parts else (name,)
        paths: list[Path] = [(*reducing.final_items, item, *inside)]
        if own_index == item:
            paths.append(("item", *inside))
            if not repeated.parts or part == number:
                paths += [(name,), ("part", name)]
        positions[key] = paths
    return positions


def _get_part_index(document: Mapping[str, Any]) -> Any:
    """Return the index of the payload's content part."""
    return document.get("content_index", document.get("summary_index"))


def _list_numbers(stream: SplitStream, path: Path) -> list[tuple[int, int]]:
    """Return (piece, number) for each payload with an integer at `path`."""
    values = ((i, _get_at(read_payload(payload), path)) for i, payload in _iter_payloads(stream))
    return [(i, value) for i, value in values if isinstance(value, int) and not isinstance(value, bool)]


def _iter_payloads(stream: SplitStream) -> Iterator[tuple[int, bytes]]:
    for i, piece in enumerate(stream.pieces):
        if piece.payload is not None:
            yield i, piece.payload


def _get_at(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value
