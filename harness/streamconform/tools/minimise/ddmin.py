"""Delta debugging: the fewest of some items with which something still holds. Pure but for the question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
Holds = Callable[[Sequence[T]], Awaitable[bool]]
"""Whether it still holds with these items, in their order; it is asked once for each selection."""


async def minimise_list(items: Sequence[T], holds: Holds[T], *, least: int = 0) -> tuple[T, ...]:
    """Return some of `items`, of which no single one can be left out, at least `least` of them.

    It holds with all of `items`; nobody asks. The algorithm is ddmin (Zeller and Hildebrandt, Simplifying
    and Isolating Failure-Inducing Input, 2002) with complements only: what holds without a part goes on
    without it; parts get smaller until they are single items.
    """
    kept = tuple(items)
    if not least and kept and await holds(()):
        return ()
    parts = 2
    while len(kept) > max(least, 1):
        smaller = await _without_a_part(kept, min(parts, len(kept)), holds, least)
        if smaller is not None:
            kept, parts = smaller, max(parts - 1, 2)
        elif parts >= len(kept):
            break
        else:
            parts = min(len(kept), parts * 2)
    return kept


async def _without_a_part(
    kept: tuple[T, ...], parts: int, holds: Holds[T], least: int
) -> tuple[T, ...] | None:
    """Return `kept` without the first of `parts` equal parts that nobody needs, or None."""
    edges = [len(kept) * i // parts for i in range(parts + 1)]
    for start, end in reversed([*pairwise(edges)]):  # what comes late is needed least
        left = kept[:start] + kept[end:]
        if len(left) >= max(least, 1) and await holds(left):
            return left
    return None
