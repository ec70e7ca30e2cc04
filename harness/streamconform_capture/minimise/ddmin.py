"""Delta debugging: reduce a list while a predicate holds. Pure except for the predicate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
Holds = Callable[[Sequence[T]], Awaitable[bool]]
"""The predicate for a subset of the items, in their original order."""


async def minimise_list(items: Sequence[T], holds: Holds[T], *, least: int = 0) -> tuple[T, ...]:
    """Return at least `least` of `items`, chosen so that dropping any one of them makes `holds` fail.

    `holds(items)` must be true; it is not called. The algorithm is ddmin (Zeller and Hildebrandt, Simplifying
    and Isolating Failure-Inducing Input, 2002) with complements only: drop each part that is not needed, and
    halve the parts until they are single items.
    """
    kept = tuple(items)
    if not least and kept and await holds(()):
        return ()
    parts = 2
    while len(kept) > max(least, 1):
        smaller = await _drop_part(kept, min(parts, len(kept)), holds, least)
        if smaller is not None:
            # With one part gone, one part fewer leaves the others as they are.
            kept, parts = smaller, max(parts - 1, 2)
        elif parts >= len(kept):
            break
        else:
            parts = min(len(kept), parts * 2)
    return kept


async def _drop_part(kept: tuple[T, ...], parts: int, holds: Holds[T], least: int) -> tuple[T, ...] | None:
    """Divide `kept` into `parts` equal parts; return it without one of them, or None if each is needed."""
    edges = [len(kept) * i // parts for i in range(parts + 1)]
    for start, end in reversed([*pairwise(edges)]):  # the last items are rarely needed
        rest = kept[:start] + kept[end:]
        if len(rest) >= max(least, 1) and await holds(rest):
            return rest
    return None
