"""The fewest items: nothing of them can be left out, and no selection is tried that is too small."""

from __future__ import annotations

import asyncio

import pytest
from streamconform.tools.minimise.ddmin import minimise_list


def found(items, needed, least=0):
    asked = []

    async def holds(kept):
        asked.append(tuple(kept))
        return set(needed) <= set(kept)

    return asyncio.run(minimise_list(items, holds, least=least)), asked


@pytest.mark.parametrize(
    ("count", "needed"),
    [
        (0, ()),
        (1, ()),
        (1, (0,)),
        (8, (3,)),
        (8, (0, 7)),
        (100, (0, 41, 99)),
        (7, range(7)),
        (64, range(0, 64, 2)),
    ],
)
def test_what_is_needed_is_left_and_nothing_else(count, needed):
    kept, _ = found(range(count), needed)
    assert kept == tuple(needed)


def test_at_least_so_many_are_left_where_none_is_needed():
    kept, asked = found("abcdefgh", (), least=1)
    assert len(kept) == 1
    assert all(asked)


def test_one_of_many_is_found_in_few_questions():
    _, asked = found(range(1024), (700,))
    assert len(asked) < 60


def test_what_hangs_together_is_left_together():
    """Half of a pair does not hold, so parts get smaller until the other items are gone one by one."""

    async def holds(kept):
        return {2, 9} <= set(kept) and (4 in kept) == (5 in kept)

    assert asyncio.run(minimise_list(range(12), holds)) == (2, 9)
