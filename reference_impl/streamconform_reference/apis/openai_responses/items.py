"""Find the output item that an event belongs to.

`output_index` identifies the item. `item_id` does not, because GitHub Copilot sends a different one in each
event. Without `output_index` (llama.cpp), `item_id` identifies the item by its `id` or `call_id`; without
either, the event belongs to the open item of its family.

Items are also keyed by family, so that text is not added to a call if a gateway numbers everything 0.

Source: https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from streamconform_reference.decoding import fields
from streamconform_reference.decoding.decoder import Payload

from .calls import CALLS

Family = Literal["message", "reasoning", "call", "other"]
ThinkingPart = tuple[str, int]

_FAMILIES: Final[Mapping[str, Family]] = {"message": "message", "reasoning": "reasoning"}


@dataclass(slots=True, eq=False)
class Item:
    """An output item. The object itself is the slot of its block, which is a call, thinking or `other`."""

    kind: str
    family: Family
    """The group of events that belong to the item."""
    index: int | None
    name: str
    phase: str = ""
    """The phase of a message; empty if it has none."""
    ended: bool = False
    data: Payload = field(default_factory=dict)
    """The finished item."""
    content_index: int = -1
    """The index of the content part that started last."""
    parts: dict[int, None] = field(default_factory=dict)
    """The indexes of the content parts that had events, in order."""
    citations: dict[int, int] = field(default_factory=dict)
    """The number of citations so far in each content part."""
    thinking: list[ThinkingPart] = field(default_factory=list)
    """The reasoning parts that have text, in the order in which their text started."""
    thinking_from: int = 0
    """The position in the block's text, in characters, where the last reasoning part starts."""


def _find_family(kind: str) -> Family:
    """Return an item type's family."""
    if kind in CALLS:
        return "call"
    return _FAMILIES.get(kind, "other")


def _read_name(data: Payload) -> str:
    """Return the id that the call's output must name, else the item's own id, else empty text."""
    return fields.read_text(data, "call_id") or fields.read_text(data, "id")


def _repeats(item: Item, data: Payload) -> bool:
    """Whether a finished item equals the one that ended, but for its id: some servers give each event one."""
    return {**item.data, "id": None} == {**data, "id": None}


class Items:
    """The items of one response, in the order of their first event."""

    def __init__(self) -> None:
        """Start with no items."""
        self._all: list[Item] = []
        self._by_index: dict[tuple[int, Family], Item] = {}
        self._by_name: dict[str, Item] = {}
        self._last: dict[Family, Item] = {}

    def __iter__(self) -> Iterator[Item]:
        return iter(self._all)

    def add(self, kind: str, index: int | None, data: Payload | None = None) -> Item:
        """Add a new item; it replaces any item of its family at the same index."""
        item = Item(kind, _find_family(kind), index, _read_name(data) if data else "")
        item.phase = fields.read_text(data, "phase") if data and item.family == "message" else ""
        self._all.append(item)
        self._last[item.family] = item
        if index is not None:
            self._by_index[index, item.family] = item
        for name in self._names(data or {}):
            self._by_name[name] = item
        return item

    def find_for_event(self, payload: Payload, family: Family) -> Item | None:
        """Return the item of this family that an event about a part belongs to."""
        index, name = payload.get("output_index"), payload.get("item_id")
        named = self._by_name.get(name) if isinstance(name, str) else None
        if named is not None and named.family != family:
            named = None
        if type(index) is int:
            # Items share an index only if the server gives every item the same one.
            same = named is not None and named.index == index
            return named if same else self._by_index.get((index, family))
        return named or self._open(family)

    def find_for_start(self, index: int | None, data: Payload) -> Item | None:
        """Return the known item whose start this event repeats, or None if no such item is open."""
        item = self._find(index, data)
        if item is None or item.ended:
            return None
        other = item.name and _read_name(data) not in ("", item.name)
        return None if item.family == "call" and other else item

    def find_for_end(self, index: int | None, data: Payload) -> Item | None:
        """Return the item that this event ends, or whose end it repeats."""
        item = self._find(index, data)
        if item is None and index is None:
            item = self._open(_find_family(data["type"]))
        if item is None or item.kind != data["type"]:
            return None
        return (
            None
            if item.ended and _read_name(data) not in ("", item.name) and not _repeats(item, data)
            else item
        )

    def pair(self, output: Iterable[Payload]) -> Iterator[tuple[Item | None, Payload]]:
        """Yield each item of a finished response with the known item that it repeats (None if it is new).

        They match by name, or else by their order among the items of their type, because on some servers the
        list is not in the order of `output_index`, lacks items, or has extra ones.
        """
        output_items = list(output)
        by_name = [self._find_by_name(data) for data in output_items]
        used = {id(item) for item in by_name if item}
        unused: dict[str, list[Item]] = {}
        for item in reversed(self._all):
            if id(item) not in used:
                unused.setdefault(item.kind, []).append(item)
        for named, data in zip(by_name, output_items, strict=True):
            candidates_left = unused.get(data["type"])
            yield named or (candidates_left.pop() if candidates_left else None), data

    def _find(self, index: int | None, data: Payload) -> Item | None:
        if index is None:
            return self._find_by_name(data)
        named = self._find_by_name(data)
        if named is not None and named.index == index:
            return named
        return self._by_index.get((index, _find_family(data["type"])))

    def _find_by_name(self, data: Payload) -> Item | None:
        candidates = (self._by_name.get(name) for name in self._names(data))
        return next((item for item in candidates if item and item.kind == data["type"]), None)

    def _open(self, family: Family) -> Item | None:
        item = self._last.get(family)
        return None if item is None or item.ended else item

    @staticmethod
    def _names(data: Payload) -> list[str]:
        return [name for key in ("call_id", "id") if isinstance(name := data.get(key), str) and name]
