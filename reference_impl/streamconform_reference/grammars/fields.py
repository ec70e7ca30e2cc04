"""The fields that frames and documents of an api have: where they stand, and what they may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Level = Literal["must", "should", "may"]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a frame by its path; `[]` is every item of a list. `needed` is whether it may be absent."""

    path: str
    kind: str
    """A key of `KINDS`, or a text in quotes that it has to be."""
    level: Level = "must"
    needed: bool = True


KINDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "name": lambda value: isinstance(value, str) and value != "",
    "text or null": lambda value: value is None or isinstance(value, str),
    "count": lambda value: type(value) is int and value >= 0,
    "count or null": lambda value: value is None or (type(value) is int and value >= 0),
    "number": lambda value: type(value) in (int, float),
    "true or false": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "object or null": lambda value: value is None or isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "empty list": lambda value: value == [],
    "null": lambda value: value is None,
}
ABSENT: Final = object()
"""What `values_at` yields where an object has not the key."""


def needs(kind: str, *paths: str, level: Level = "must") -> tuple[Field, ...]:
    """Return fields that have to be there."""
    return tuple(Field(path, kind, level) for path in paths)


def takes(kind: str, *paths: str, level: Level = "must") -> tuple[Field, ...]:
    """Return fields that need not be there, but are of one kind where they are."""
    return tuple(Field(path, kind, level, needed=False) for path in paths)


def values_at(payload: Mapping[str, Any], path: str) -> Iterator[Any]:
    """Yield what stands at a path, or that it is absent; nothing where what holds it is not there."""
    head, dot, rest = path.partition(".")
    every = head.endswith("[]")
    value = payload.get(head.removesuffix("[]"), ABSENT)
    if not every:
        if not dot:
            yield value
        elif isinstance(value, dict):
            yield from values_at(value, rest)
    elif isinstance(value, list):
        for item in value:
            if not dot:
                yield item
            elif isinstance(item, dict):
                yield from values_at(item, rest)


def fits(kind: str, value: Any) -> bool:
    """Return whether a value is of a kind that a field names."""
    held = KINDS.get(kind)
    return held(value) if held else bool(value == kind.strip('"'))


def said(value: Any) -> str:
    """Return a value in words, briefly."""
    text = str(value) if not isinstance(value, str) else f'"{value}"'
    return f"`{text[:60]}{'…' if len(text) > 60 else ''}`"


def adds_up(counts: Sequence[Any], total: Any) -> bool:
    """Return whether a total is the sum of counts; where one of them is no number its field is wrong."""
    whole = [each for each in counts if type(each) is int]
    return type(total) is not int or len(whole) < len(counts) or sum(whole) == total
