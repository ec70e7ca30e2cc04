"""What is expected of one value: itself, or a matcher that stands in its place (`spec.v1.json`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Literally:
    """This value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Matches:
    """Text in which the expression is found."""

    pattern: re.Pattern[str]
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Present:
    """Anything but null, or null."""

    present: bool
    why: str | None = None


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of these values."""

    values: tuple[Any, ...]
    why: str | None = None


@dataclass(frozen=True, slots=True)
class PrefixOf:
    """A beginning of this text."""

    text: str
    why: str | None = None


Leaf = Literally | Matches | Present | AnyOf | PrefixOf
