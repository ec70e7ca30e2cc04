"""Rearranging JSON text preserves the value and every token."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform.wire import json_text

texts = st.text(max_size=6) | st.sampled_from(('"', "\\", '\\"', "{", "}:,", "\u2028", "é🌍", "a", "b", "\n"))
keys = texts | st.sampled_from(("a", "b", "delta"))
numbers = st.sampled_from(
    ("0", "-0", "1.0", "1e5", "1E-7", "9007199254740993", "123456789012345678901234567890")
)
scalars = numbers | st.sampled_from(("true", "false", "null")) | texts.map(json.dumps)
spaces = st.sampled_from(("", " ", "\n", "\t ", "\r\n"))


def quoted(key: str, seed: int) -> str:
    """Return `key` as JSON text, with randomly escaped characters."""
    draw = random.Random(seed)  # noqa: S311 - spellings, no secrets
    units = [key.encode("utf-16-be")[i : i + 2] for i in range(0, 2 * len(key.encode("utf-16-be")) // 2, 2)]
    if draw.random() < 0.5 or any(len(unit) < 2 for unit in units):
        return json.dumps(key, ensure_ascii=draw.random() < 0.5)
    return '"' + "".join(f"\\u{int.from_bytes(unit, 'big'):04x}" for unit in units) + '"'


@st.composite
def json_texts(draw, inner):
    gap = draw(spaces)
    if draw(st.booleans()):
        items = draw(st.lists(inner, max_size=3))
        return "[" + gap + f"{gap},{gap}".join(items) + gap + "]"
    members = [
        f"{quoted(draw(keys), draw(st.integers(0, 9)))}{gap}:{gap}{draw(inner)}"
        for _ in range(draw(st.integers(0, 4)))
    ]
    return "{" + gap + f"{gap},{gap}".join(members) + gap + "}"


documents = st.recursive(scalars, json_texts, max_leaves=12).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)


def value(text: bytes):
    """Return the value, with numbers as written, and with the members of objects that win."""
    return json.loads(text, parse_int=lambda n: ("n", n), parse_float=lambda n: ("n", n))


def tokens(text: bytes) -> Counter[bytes]:
    return Counter(text[start:end] for start, end in json_text.find_tokens(text) or ())


CHANGES = {
    "reverse": json_text.reverse_keys,
    "pad": lambda text: json_text.pad(text, b" \t"),
    "break": lambda text: b"\n".join(json_text.break_after(text, 2)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_value_and_every_token_stay_the_same(name):
    @given(documents)
    def holds(text):
        changed = CHANGES[name](text)
        assert value(changed) == value(text)
        assert tokens(changed) == tokens(text)

    holds()


@given(documents)
def test_the_pieces_of_a_broken_text_are_the_text(text):
    assert b"".join(json_text.break_after(text, 3)) == text


@given(documents)
def test_a_new_member_is_the_only_change(text):
    changed = value(json_text.add_member(text, b'"future":[1]', [()]))
    before = value(text)
    assert changed == (before | {"future": [("n", "1")]} if isinstance(before, dict) else before)


REVERSED = [
    (b'{"a":1,"b":{"c":2,"d":3}}', b'{"b":{"d":3,"c":2},"a":1}'),
    (b'[{"a":1,"b":2},3]', b'[{"b":2,"a":1},3]'),
    (b'{"a":1,"b":2,"a":3}', b'{"a":1,"b":2,"a":3}'),
    (b'{"a":1,"\\u0061":2}', b'{"a":1,"\\u0061":2}'),
    (b"{}", b"{}"),
    (b"12", b"12"),
]


@pytest.mark.parametrize(("text", "expected"), REVERSED)
def test_keys_are_reversed_unless_one_is_duplicate(text, expected):
    assert json_text.reverse_keys(text) == expected


BROKEN = [
    b"",
    b"[DONE]",
    b'{"a":}',
    b'{"a" 1}',
    b'{"a":1,}',
    b'{"a":1',
    b'{"a":1}}',
    b'{"a":1}{"b":2}',
    b'{"a":tru',
    b'"open',
    b'{"a":1}\x0b',
    b"\xff{}",
    b"[" * 5000,
    b"nul l",
    b'{"a":NaN,"b":1}',
    b'{"a":1,"b":[-Infinity]}',
    b"[NaN]",
]


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: ascii(text)[:20])
def test_invalid_json_stays_unchanged(text):
    """If they were rearranged, a broken payload could become valid, and `[DONE]` something else."""
    assert json_text.reverse_keys(text) == text
    assert json_text.pad(text, b" ") == text
    assert json_text.add_member(text, b'"x":1', [()]) == text
    assert json_text.break_after(text, 1) == [text]


ADDED = [
    ([()], b'{"a":{"b":{}},"x":1}'),
    ([("a",)], b'{"a":{"b":{},"x":1}}'),
    ([("a", "b")], b'{"a":{"b":{"x":1}}}'),
    ([(), ("a",), ("a", "b"), ("nothing",)], b'{"a":{"b":{"x":1},"x":1},"x":1}'),
    ([()] * 2, b'{"a":{"b":{}},"x":1}'),
]


@pytest.mark.parametrize(("paths", "expected"), ADDED)
def test_a_member_is_added_at_the_paths(paths, expected):
    assert json_text.add_member(b'{"a":{"b":{}}}', b'"x":1', paths) == expected


def test_a_text_deeper_than_the_bound_keeps_its_order():
    deep = b'{"b":1,"a":' * 300 + b"1" + b"}" * 300
    assert json_text.reverse_keys(deep) == deep
