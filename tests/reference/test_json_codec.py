"""Reading and writing JSON: exact, bounded, and with a single exception type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_reference.json_text import codec
from streamconform_reference.json_text.codec import NotJsonError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18446744073709551616", 2**64),
        ("-123456789012345678901234567890", -123456789012345678901234567890),
        ('{"n": [12345678901234567890123]}', {"n": [12345678901234567890123]}),
        ('"\\ud800"', "\ud800"),
        ('"\\ud83c\\udf24"', "🌤"),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("1E2", 100.0),
        (" null ", None),
    ],
)
def test_values_are_exact(text: str, value: Any) -> None:
    assert codec.loads_text(text) == value
    assert codec.loads(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NaN",
        "-Infinity",
        '{"a": Infinity}',
        "1e999",
        "1" * 5000,
        "{'a': 1}",
        '{"a": 1,}',
        "01",
        '"\n"',
        "\u00a01",
        "[" * 200 + "]" * 200,
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_invalid_json_is_rejected(text: str) -> None:
    with pytest.raises(NotJsonError):
        codec.loads_text(text)
    assert not codec.is_json(text.encode())


def test_many_brackets_are_not_depth() -> None:
    assert codec.loads(b"[" + b"[]," * 500 + b"[]]") == [[]] * 501


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    assert codec.loads(b'"a\xffb"') == "a\ufffdb"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("\ud800", b'"\\ud800"'),
        ({"n": 2**64, "t": "é"}, '{"n":18446744073709551616,"t":"é"}'.encode()),
        ({"t": "é"}, '{"t":"é"}'.encode()),
    ],
)
def test_every_value_can_be_written(value: Any, text: bytes) -> None:
    assert codec.dumps(value) == text


@given(st.binary(max_size=40))
def test_any_bytes_are_json_or_not(data: bytes) -> None:
    if codec.is_json(data):
        assert codec.loads(codec.dumps(codec.loads(data))) == codec.loads(data)
