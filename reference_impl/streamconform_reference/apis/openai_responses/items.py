"""Which output item an event is about.

`output_index` says so. `item_id` does not: GitHub Copilot gives each event another one. Servers that
send no `output_index` (llama.cpp) are followed by `item_id`, which is then the item's `id` or
`call_id`, and without either by the item of that family that is open.

Items are kept by family too, so a gateway that numbers everything 0 mixes no text into a call.

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

FAMILIES: Final[Mapping[str, Family]] = {"message": "message", "reasoning": "reasoning"}


@dataclass(slots=True, eq=False)
class Item:
    """An output item, and the slot of its block: a call, thinking or `other`."""

    kind: str
    family: Family
    """Which events are about it."""
    index: int | None
    name: str
    ended: bool = False
    content_index: int = -1
    """The part of the content that began last."""
    citations: dict[int, int] = field(default_factory=dict)
    """How many there were, by part of the content."""
    thinking: list[ThinkingPart] = field(default_factory=list)
    """The parts of the reasoning that showed text, in their order."""
    thinking_from: int = 0
    """Where the last of these begins in the text of the block, in characters."""


def family_of(kind: str) -> Family:
    """Return the family of an item's type."""
    if kind in CALLS:
        return "call"
    return FAMILIES.get(kind, "other")


def name_of(data: Payload) -> str:
    """Return what an item is called: the id that its answer names, else its own, else nothing."""
    return fields.text(data, "call_id") or fields.text(data, "id")


class Items:
    """The items of one response, in the order in which they were first heard of."""

    def __init__(self) -> None:
        """Begin without items."""
        self._all: list[Item] = []
        self._placed: dict[tuple[int, Family], Item] = {}
        self._named: dict[str, Item] = {}
        self._last: dict[Family, Item] = {}

    def __iter__(self) -> Iterator[Item]:
        return iter(self._all)

    def add(self, kind: str, index: int | None, data: Payload | None = None) -> Item:
        """Return a new item; it replaces one of its family at the same index."""
        item = Item(kind, family_of(kind), index, name_of(data) if data else "")
        self._all.append(item)
        self._last[item.family] = item
        if index is not None:
            self._placed[index, item.family] = item
        for name in self._names(data or {}):
            self._named[name] = item
        return item

    def of_event(self, payload: Payload, family: Family) -> Item | None:
        """Return the item of this family that an event about a part of it means."""
        index, name = payload.get("output_index"), payload.get("item_id")
        named = self._named.get(name) if isinstance(name, str) else None
        if named is not None and named.family != family:
            named = None
        if type(index) is int:
            # Two items may share an index only where the server numbers everything alike.
            same = named is not None and named.index == index
            return named if same else self._placed.get((index, family))
        return named or self._open(family)

    def of_start(self, index: int | None, data: Payload) -> Item | None:
        """Return the item that begins again with this event, if it is known and has not ended."""
        item = self._find(index, data)
        if item is None or item.ended:
            return None
        other = item.name and name_of(data) not in ("", item.name)
        return None if item.family == "call" and other else item

    def of_end(self, index: int | None, data: Payload) -> Item | None:
        """Return the item that this event ends. One that has ended is ended once more, if it is it."""
        item = self._find(index, data)
        if item is None and index is None:
            item = self._open(family_of(data["type"]))
        if item is None or item.kind != data["type"]:
            return None
        return None if item.ended and name_of(data) not in ("", item.name) else item

    def pair(self, output: Iterable[Payload]) -> Iterator[tuple[Item | None, Payload]]:
        """Yield the items of a finished response with those that are known, None for a new one.

        They are the same by name, else by their order among the items of their type: the list is
        not in the order of `output_index` on every server, and may lack items or have others.
        """
        listed = list(output)
        by_name = [self._by_name(data) for data in listed]
        taken = {id(item) for item in by_name if item}
        free: dict[str, list[Item]] = {}
        for item in reversed(self._all):
            if id(item) not in taken:
                free.setdefault(item.kind, []).append(item)
        for named, data in zip(by_name, listed, strict=True):
            rest = free.get(data["type"])
            yield named or (rest.pop() if rest else None), data

    def _find(self, index: int | None, data: Payload) -> Item | None:
        if index is None:
            return self._by_name(data)
        named = self._by_name(data)
        if named is not None and named.index == index:
            return named
        return self._placed.get((index, family_of(data["type"])))

    def _by_name(self, data: Payload) -> Item | None:
        found = (self._named.get(name) for name in self._names(data))
        return next((item for item in found if item and item.kind == data["type"]), None)

    def _open(self, family: Family) -> Item | None:
        item = self._last.get(family)
        return None if item is None or item.ended else item

    @staticmethod
    def _names(data: Payload) -> list[str]:
        return [name for key in ("call_id", "id") if isinstance(name := data.get(key), str) and name]
