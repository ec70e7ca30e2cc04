"""The expectation for one value: a literal or a matcher (`spec.v1.json`)."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from msgspec import Struct


class Literally(Struct, frozen=True):
    """Equal to this value."""

    value: Any


class Matches(Struct, frozen=True):
    """Text that contains a match for the pattern."""

    pattern: re.Pattern[str]
    why: str | None = None


class Present(Struct, frozen=True):
    """Not null if `present`, otherwise null."""

    present: bool
    why: str | None = None


class AnyOf(Struct, frozen=True):
    """One of these values. If some are `preferred`, matching one of the others results in a warning."""

    values: tuple[Any, ...]
    why: str | None = None
    preferred: tuple[Any, ...] = ()


class PrefixOf(Struct, frozen=True):
    """A prefix of this text."""

    text: str
    why: str | None = None


class Digest(Struct, frozen=True):
    """Text that is not included in the suite: adjacent parts, each given by its length and SHA-256 digest.

    The length is in characters; the digest is of the UTF-8 bytes. A value that is not text is compared as
    canonical JSON (`format_canonical_json`).
    """

    parts: tuple[tuple[int, str], ...]

    @property
    def length(self) -> int:
        """Return the length of the whole text."""
        return sum(length for length, _ in self.parts)


Leaf = Literally | Matches | Present | AnyOf | PrefixOf | Digest


def digest_text(text: str) -> Digest:
    """Return a digest whose only part is the whole text."""
    # JSON can escape half a surrogate pair, which UTF-8 cannot encode.
    return Digest(((len(text), hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()),))


def format_canonical_json(value: Any) -> str:
    """Return JSON with sorted keys, no spaces, no unnecessary escapes, and `1` for `1.0`."""
    return json.dumps(_unify_numbers(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _unify_numbers(value: Any) -> Any:
    match value:
        case dict():
            return {key: _unify_numbers(item) for key, item in value.items()}
        case list():
            return [_unify_numbers(item) for item in value]
        # The comparison treats 1 and 1.0 as equal, so both must have the same digest.
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def list_values(leaf: Leaf | None) -> tuple[Any, ...] | None:
    """Return the values that match `leaf`, or None if it does not list them."""
    match leaf:
        case Literally(value):
            return (value,)
        case AnyOf(values):
            return values
        case _:
            return None


def list_preferred(leaf: Leaf | None) -> tuple[Any, ...] | None:
    """Return the values that match `leaf` without a warning, or None if it does not list its values."""
    return leaf.preferred if isinstance(leaf, AnyOf) and leaf.preferred else list_values(leaf)
