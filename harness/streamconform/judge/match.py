"""One leaf against one value. Pure."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from streamconform.model.leaf import AnyOf, Leaf, Literally, Matches, PrefixOf, Present

CENT = Decimal("1e-9")
"""Costs that differ by no more than this, in USD, are equal."""
SAFE = 2**53
"""Up to here every implementation language can hold an integer exactly."""


def fits(expected: Leaf, got: Any, *, money: bool = False) -> bool:
    """Return whether `got` is what `expected` asks for; `money` compares decimal text by value."""
    match expected:
        case Literally(value):
            return same_money(value, got) if money else same(value, got)
        case Matches(pattern):
            return isinstance(got, str) and pattern.search(got) is not None
        case Present(present):
            return (got is not None) == present
        case AnyOf(values):
            return any(same_money(v, got) if money else same(v, got) for v in values)
        case PrefixOf(text):
            return isinstance(got, str) and text.startswith(got)


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal: numbers by value, booleans no numbers, no key order."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def same_money(one: Any, other: Any) -> bool:
    """Return whether two decimal texts mean the same amount."""
    if one is None or other is None:
        return one is other
    try:
        return abs(Decimal(one) - Decimal(other)) <= CENT
    except (InvalidOperation, TypeError, ValueError):
        return False


def beyond_safe(value: Any) -> bool:
    """Return whether an integer beyond 2**53 is anywhere in `value`."""
    if isinstance(value, dict):
        return any(map(beyond_safe, value.values()))
    if isinstance(value, list):
        return any(map(beyond_safe, value))
    return isinstance(value, int) and abs(value) > SAFE
