"""Numbers that do not add up are an error with exit code 4."""

from __future__ import annotations

import pytest

from streamconform.conservation import Balance, find_lost, require_balance
from streamconform.errors import LostError

KEPT = Balance("exchange", "read", 3, {"imported": 2, "skipped": 1})
LOST = Balance("byte", "received", 1_234, {"saved": 1_000})


def test_numbers_that_add_up_are_no_error():
    assert KEPT.find_error() is None
    require_balance(KEPT, KEPT)


def test_numbers_that_do_not_add_up_are_named_and_a_bug():
    with pytest.raises(LostError) as raised:
        require_balance(KEPT, LOST)
    assert str(raised.value) == "1,234 bytes received, but 1,000 saved; this is a bug in streamconform"
    assert raised.value.exit_code == 4


@pytest.mark.parametrize(
    ("found", "lost"), [("abc", ""), ("cab", ""), ("ab", "c"), ("abcc", "c"), ("abcd", "d"), ("", "abc")]
)
def test_each_planned_item_is_found_once(found, lost):
    assert find_lost("abc", found) == set(lost)
