"""A claim about each of many values is tested for each, and says for which it fails."""

from __future__ import annotations

import pytest

from .for_each import for_each


def test_every_value_is_tested_and_each_failure_names_its_value():
    seen = []

    @for_each("left", [1, 2], ids=["one", "two"])
    @for_each(("right", "sum_"), [(1, 2), pytest.param(5, 7)])
    def claim(left, right, sum_):
        seen.append((left, right))
        if left == right:
            pytest.fail("the same")
        assert left + right == sum_

    with pytest.raises(BaseExceptionGroup) as caught:
        claim()
    assert seen == [(1, 1), (1, 5), (2, 1), (2, 5)]
    one, two = caught.value.exceptions
    assert (one.__notes__, two.__notes__) == (["for one"], ["for two"])
    assert [each.__notes__ for each in one.exceptions] == [["for 1, 2"], ["for 5, 7"]]
    assert [each.__notes__ for each in two.exceptions] == [["for 1, 2"]]


def test_a_claim_about_nothing_is_a_mistake():
    with pytest.raises(AssertionError, match="a claim about nothing"):
        for_each("value", [])
