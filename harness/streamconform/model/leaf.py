"""The expectation for one value: a literal, or a matcher in its place (`spec.v1.json`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Literally:
    """Equal to this value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Matches:
    """Text in which the pattern matches somewhere."""

    pattern: re.Pattern[str]
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Present:
    """Not null if `present`, else null."""

    present: bool
    why: str | None = None


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of these values. If some are `preferred`, the others pass the check at most as a warning."""

    values: tuple[Any, ...]
    why: str | None = None
    preferred: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class PrefixOf:
    """A prefix of this text."""

    text: str
    why: str | None = None


Leaf = Literally | Matches | Present | AnyOf | PrefixOf


def list_values(leaf: Leaf | None) -> tuple[Any, ...] | None:
    """Return the values that match `leaf`, or None if it does not list them."""
    match leaf:
        case Literally(value):
            return (value,)
        case AnyOf(values):
            return values
        case _:
            return None
