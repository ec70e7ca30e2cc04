"""Delta debugging keeps only needed items and never tries a selection that is too small."""

from __future__ import annotations

import asyncio

import pytest

from streamconform_capture.minimise.ddmin import minimise_list


def minimise(items, needed, least=0):
    selections = []

    async def holds(kept):
        selections.append(tuple(kept))
        return set(needed) <= set(kept)

    return asyncio.run(minimise_list(items, holds, least=least)), selections


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
def test_only_needed_items_are_kept(count, needed):
    kept, _ = minimise(range(count), needed)
    assert kept == tuple(needed)


def test_at_least_the_minimum_is_kept():
    kept, selections = minimise("abcdefgh", (), least=1)
    assert len(kept) == 1
    assert all(selections)


def test_one_item_of_many_is_found_in_few_calls():
    _, selections = minimise(range(1024), (700,))
    assert len(selections) < 60


def test_items_that_depend_on_each_other_stay_together():
    """Half of a pair fails, so the parts get smaller until the other items are dropped one by one."""

    async def holds(kept):
        return {2, 9} <= set(kept) and (4 in kept) == (5 in kept)

    assert asyncio.run(minimise_list(range(12), holds)) == (2, 9)
