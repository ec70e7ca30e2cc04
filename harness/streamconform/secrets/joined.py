"""Join the pieces of an answer, which are split across frames and across the fields of a frame. Pure.

No parser is used: pieces are joined by their path in the payload, so that a key is found even in fields that
no client reads, and in streams of any API, valid or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from streamconform.adapters import json_line

Place = tuple[str | int, ...]

MAX_LEAVES: Final = 2_000_000
"""The maximum number of strings joined per body; even a 16 MB body of one-character pieces has fewer."""
MAX_DEPTH: Final = 200
"""The maximum nesting depth; deeper values are not joined."""
SELECTORS: Final = ("index", "output_index", "content_index", "contentBlockIndex", "item_id")
"""Members that identify the block or call to which a payload belongs."""


class Leaf(NamedTuple):
    """A string in a payload, or a list of byte values, as in OpenAI's log probabilities."""

    place: Place
    block: Place
    """The values of the `SELECTORS` members that apply to it."""
    data: bytes


def parse_payload(payload: bytes) -> Any:
    """Return the JSON value of a payload, or None if it is not JSON."""
    try:
        return json_line.loads(payload)
    except (ValueError, RecursionError):
        return None


STRUCTURE: Final = frozenset(
    {
        (name,)
        for name in ("event", "id", "item_id", "kind", "object", "response_id", "role", "status", "type")
    }
)
"""The last path components of strings that occur between content pieces but are not content themselves."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Pieces of an answer that may belong together, joined into one text."""

    how: str
    data: bytes
    """The joined texts, each followed by `END`, which no pattern of a secret matches."""
    starts: tuple[int, ...]
    """The offset at which each piece begins."""


END: Final = b" \n\n"


def join_pieces(values: Iterable[Any]) -> tuple[Joined, ...]:
    """Return every way to join the strings in `values`, a body's parsed payloads in order.

    Across all values, it joins the strings at the same path, those at the same path in any block, and all
    strings that change. Within each value, it joins all strings.
    """
    in_frames: list[list[bytes]] = []
    by_place: defaultdict[Any, list[bytes]] = defaultdict(list)
    ordered: list[tuple[Any, bytes]] = []
    for value in values:
        leaves: list[Leaf] = []
        _collect_leaves(value, (), (), leaves)
        for leaf in leaves:
            by_place[leaf.block, leaf.place].append(leaf.data)
            ordered.append(((leaf.block, leaf.place), leaf.data))
        if len(leaves) > 1:
            in_frames.append([leaf.data for leaf in leaves])
        if len(ordered) > MAX_LEAVES:
            break
    # When all frames are joined, a string that is the same in each, such as an id, would separate the pieces
    # of a text.
    changing = {
        place: pieces for place, pieces in by_place.items() if len(pieces) > 1 and len(set(pieces)) > 1
    }
    texts = {b"".join(pieces): pieces for pieces in (*changing.values(), *_group_by_field(ordered))}
    joined = [
        _join("joining all fields of a frame", in_frames),
        _join("joining a field of all frames", texts.values()),
    ]
    if len(changing) > 1:
        content = [piece for key, piece in ordered if key in changing and key[1][-1:] not in STRUCTURE]
        joined.append(_join("joining all frames", [content]))
    return tuple(text for text in joined if text.data)


def _group_by_field(ordered: Iterable[tuple[Any, bytes]]) -> list[list[bytes]]:
    """Return the pieces of each field that has several, in any block: at one path without its indices."""
    by_field: defaultdict[Any, list[bytes]] = defaultdict(list)
    names: dict[Place, Place] = {}
    for (_, place), piece in ordered:
        if place not in names:
            names[place] = tuple(step for step in place if isinstance(step, str))
        by_field[names[place]].append(piece)
    return [pieces for pieces in by_field.values() if len(pieces) > 1]


def _join(how: str, texts: Iterable[list[bytes]]) -> Joined:
    starts = []
    pieces = []
    end = 0
    for text in texts:
        for piece in text:
            starts.append(end)
            end += len(piece)
        pieces += text
        pieces.append(END)
        end += len(END)
    return Joined(how, b"".join(pieces), tuple(starts))


def _collect_leaves(value: Any, place: Place, block: Place, leaves: list[Leaf]) -> None:
    """Append the strings in `value`, in order; their place includes the block or call they belong to."""
    if isinstance(value, str):
        if value:
            leaves.append(Leaf(place, block, value.encode("utf-8", "replace")))
    elif isinstance(value, dict) and len(place) < MAX_DEPTH:
        for name in SELECTORS:
            if name in value and isinstance(value[name], int | str):
                block = (*block, value[name])
        for key, item in value.items():
            if item.__class__ in _NESTED:
                _collect_leaves(item, (*place, key), block, leaves)
    elif isinstance(value, list) and len(place) < MAX_DEPTH:
        if value and all(type(item) is int and 0 <= item < 256 for item in value):
            leaves.append(Leaf(place, block, bytes(value)))
            return
        for number, item in enumerate(value):
            if item.__class__ in _NESTED:
                _collect_leaves(item, (*place, number), block, leaves)


_NESTED: Final = frozenset({str, dict, list})
