"""A message about one thing has no plural."""

from __future__ import annotations

import pytest

from streamconform.plural import format_count


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "case", "0 cases"),
        (1, "case", "1 case"),
        (2, "adapter error", "2 adapter errors"),
        (1, "delivery", "1 delivery"),
        (1234, "delivery", "1,234 deliveries"),
        (2, "warning", "2 warnings"),
        (3, "known-failures entry", "3 known-failures entries"),
    ],
)
def test_a_noun_agrees_with_its_number(number, noun, text):
    assert format_count(number, noun) == text
