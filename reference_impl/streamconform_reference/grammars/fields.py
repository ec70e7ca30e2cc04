"""The fields of an API's frames and documents: their paths, and their allowed values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Level = Literal["must", "should", "may"]


@dataclass(frozen=True, slots=True)
class Field:
    """A frame field, identified by its path; `[]` means every item of a list. `needed` means required."""

    path: str
    kind: str
    """A key of `KINDS`, or the required text in quotes."""
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
"""The value that `values_at` yields for an absent key."""


def needs(kind: str, *paths: str, level: Level = "must") -> tuple[Field, ...]:
    """Return required fields."""
    return tuple(Field(path, kind, level) for path in paths)


def takes(kind: str, *paths: str, level: Level = "must") -> tuple[Field, ...]:
    """Return optional fields of one kind."""
    return tuple(Field(path, kind, level, needed=False) for path in paths)


def values_at(payload: Mapping[str, Any], path: str) -> Iterator[Any]:
    """Yield the values at a path: `ABSENT` for a missing key, nothing if its parent is missing."""
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
    """Return whether a value is of a field's kind."""
    expected = KINDS.get(kind)
    return expected(value) if expected else bool(value == kind.strip('"'))


def format_value(value: Any) -> str:
    """Return a value as short text for a message."""
    text = str(value) if not isinstance(value, str) else f'"{value}"'
    return f"`{text[:60]}{'…' if len(text) > 60 else ''}`"


def adds_up(counts: Sequence[Any], total: Any) -> bool:
    """Return whether a total is the sum of its counts, or any of them is not a number (a separate error)."""
    whole = [entry for entry in counts if type(entry) is int]
    return type(total) is not int or len(whole) < len(counts) or sum(whole) == total
