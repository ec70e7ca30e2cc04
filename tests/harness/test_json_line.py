"""The fast reader of protocol lines returns the same values as the standard library."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform.adapters.json_line import loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.booleans())
def test_a_line_is_the_value_that_was_written(value, ascii_):
    line = json.dumps(value, ensure_ascii=ascii_).encode() + b"\n"
    assert repr(loads(line)) == repr(json.loads(line))


TELLING = [
    *("18446744073709551615", "18446744073709551616", "-9223372036854775809", "1" * 300, "[0, 1e22, -0.0]"),
    *('"\\ud83d"', '"0000000000000000000"', '{"a": 1, "a": 2}', "[" * 900 + "]" * 900, "1e999", "NaN"),
]


@pytest.mark.parametrize("text", TELLING, ids=lambda each: each[:20])
def test_unusual_values_are_read_exactly(text):
    assert repr(loads(text.encode())) == repr(json.loads(text))


def test_invalid_json_is_left_to_the_caller():
    assert loads(b"not json", lambda line: line[:3]) == b"not"
