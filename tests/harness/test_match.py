"""Compare one expected leaf with one value."""

from __future__ import annotations

import re

import pytest

from streamconform.judge.match import has_unsafe_integer, is_equal, matches_leaf
from streamconform.model.leaf import AnyOf, Digest, Literally, Matches, PrefixOf, Present, digest_text

SAME = [
    (1, 1.0),
    (0, -0.0),
    (10**20, 1e20),
    (None, None),
    ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}),
    ([{"a": []}], [{"a": []}]),
    pytest.param("é", "é", id="accent"),
    (True, True),
]
DIFFERENT = [
    (1, True),
    (0, False),
    (True, 1),
    (None, False),
    (None, 0),
    ("", None),
    ("1", 1),
    ([], {}),
    ([], None),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ({"a": 1}, {"a": 1, "b": None}),
    ({"a": True}, {"a": 1}),
    ({"a": [0]}, {"a": [False]}),
    (2**53 + 1, 2.0**53),
    pytest.param("e\u0301", "é", id="combining-accent"),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=str)
def test_numbers_are_compared_by_value_and_keys_without_order(one, other):
    assert is_equal(one, other)
    assert is_equal(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=str)
def test_inequality_is_symmetric(one, other):
    assert not is_equal(one, other)
    assert not is_equal(other, one)


MONEY = [
    ("0.003060", "0.00306", True),
    ("1", "1.000000001", True),
    ("1", "1.0000000011", False),
    ("0", "-0", True),
    ("0", None, False),
    (None, None, True),
    ("0.1", "0.3", False),
    ("0.1", "ten cents", False),
    ("123456789012345.000000001", "123456789012345.000000003", False),
]


@pytest.mark.parametrize(("one", "other", "equal"), MONEY)
def test_money_is_equal_up_to_a_billionth(one, other, equal):
    assert matches_leaf(Literally(one), other, money=True) is equal
    assert matches_leaf(AnyOf(("99", one)), other, money=True) is equal


THREE_PARTS = Digest(tuple(part for text in ("ab", "c", "de") for part in digest_text(text).parts))
MATCHERS = [
    (Matches(re.compile("^toolu_")), "toolu_1", True),
    (Matches(re.compile("b")), "abc", True),
    (Matches(re.compile("b")), None, False),
    (Matches(re.compile("1")), 1, False),
    (Present(present=True), "", True),
    (Present(present=True), 0, True),
    (Present(present=True), None, False),
    (Present(present=False), None, True),
    (Present(present=False), False, False),
    (AnyOf((0, None)), None, True),
    (AnyOf((0, None)), 0.0, True),
    (AnyOf((0, None)), False, False),
    (AnyOf(()), None, False),
    (PrefixOf("abc"), "", True),
    (PrefixOf("abc"), "ab", True),
    (PrefixOf("abc"), "abcd", False),
    (PrefixOf("abc"), None, False),
    (PrefixOf("a😀"), "a\ud83d", True),
    (PrefixOf("a😀"), "a\ud83e", False),
    (PrefixOf("a😀b"), "a\ud83d\ude00", True),
    (digest_text("ab"), "ab", True),
    (digest_text("ab"), "ac", False),
    (digest_text("ab"), "abc", False),
    (digest_text("None"), None, False),
    (digest_text('{"a":1}'), {"a": 1}, True),
    (THREE_PARTS, "abcde", True),
    (THREE_PARTS, "xbcde", False),
    (THREE_PARTS, "abxde", False),
    (THREE_PARTS, "abcdx", False),
]


@pytest.mark.parametrize(("leaf", "got", "holds"), MATCHERS, ids=str)
def test_a_matcher_matches_its_values(leaf, got, holds):
    assert matches_leaf(leaf, got) is holds


@pytest.mark.parametrize(
    ("value", "beyond"),
    [
        (2**53, False),
        (2**53 + 1, True),
        (-(2**53) - 1, True),
        ({"a": [{"b": 2**60}]}, True),
        ({"a": "2" * 30}, False),
        (1e300, False),
        (True, False),
    ],
    ids=str,
)
def test_integers_beyond_javascripts_range_are_found_anywhere(value, beyond):
    assert has_unsafe_integer(value) is beyond
