"""Compare one value with one leaf of an expectation. Pure."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from streamconform.model.leaf import (
    AnyOf,
    Digest,
    Leaf,
    Literally,
    Matches,
    PrefixOf,
    Present,
    digest_text,
    format_canonical_json,
)

COST_TOLERANCE = Decimal("1e-9")
"""The maximum difference, in USD, between costs that count as equal."""
MAX_SAFE_INTEGER = 2**53
"""The limit up to which every implementation language represents integers exactly (IEEE 754 doubles)."""


def matches_leaf(expected: Leaf, got: Any, *, money: bool = False) -> bool:
    """Return whether `got` matches `expected`; with `money`, decimal texts are compared by value."""
    match expected:
        case Literally(value):
            return is_equal_amount(value, got) if money else is_equal(value, got)
        case Matches(pattern):
            return isinstance(got, str) and pattern.search(got) is not None
        case Present(present):
            return (got is not None) == present
        case AnyOf(values):
            return any(is_equal_amount(v, got) if money else is_equal(v, got) for v in values)
        case PrefixOf(text):
            return isinstance(got, str) and _is_prefix(got, text)
        case Digest():
            return got is not None and _has_digest(expected, got)


def _is_prefix(start: str, text: str) -> bool:
    """Return whether `text` starts with `start`, which may end with the first half of a surrogate pair."""
    if text.startswith(start):
        return True
    return text.encode("utf-16-be", "surrogatepass").startswith(start.encode("utf-16-be", "surrogatepass"))


def _has_digest(expected: Digest, got: Any) -> bool:
    """Return whether `got`, as text or canonical JSON, consists of the expected parts."""
    text = got if isinstance(got, str) else format_canonical_json(got)
    # The slices below would not notice text after the last part.
    if len(text) != expected.length:
        return False
    start = 0
    for length, digest in expected.parts:
        if digest_text(text[start : start + length]).parts[0][1] != digest:
            return False
        start += length
    return True


def is_equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal. Numbers are compared by value; booleans are not numbers."""
    if isinstance(one, bool) or isinstance(other, bool):  # in Python, True == 1
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return bool(one == other)


def is_equal_amount(one: Any, other: Any) -> bool:
    """Return whether two decimal texts represent the same amount, within `COST_TOLERANCE`."""
    if one is None or other is None:
        return one is other
    try:
        return abs(Decimal(one) - Decimal(other)) <= COST_TOLERANCE
    except (InvalidOperation, TypeError, ValueError):
        return False


def has_unsafe_integer(value: Any) -> bool:
    """Return whether `value` contains an integer beyond `MAX_SAFE_INTEGER`."""
    if isinstance(value, dict):
        return any(map(has_unsafe_integer, value.values()))
    if isinstance(value, list):
        return any(map(has_unsafe_integer, value))
    return isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER
