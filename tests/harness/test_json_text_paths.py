"""New members are added at paths through objects and arrays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform.wire.json_text import add_member

MEMBER = b'"N":1'


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (b'{"a":{}}', ("a",), b'{"a":{"N":1}}'),
        (b'{"a":[{},{"b":2}]}', ("a", "*"), b'{"a":[{"N":1},{"b":2,"N":1}]}'),
        (b'{"a":[{"b":{"c":[{}]}}]}', ("a", "*", "b", "c", "*"), b'{"a":[{"b":{"c":[{"N":1}]}}]}'),
        (b'{"a":[1,null,[{}]]}', ("a", "*"), b'{"a":[1,null,[{}]]}'),
        (b'{"a":{"*":{}}}', ("a", "*"), b'{"a":{"*":{"N":1}}}'),
        (b'{"a":[{}]}', ("a", "0"), b'{"a":[{}]}'),
        (b'{"a":{},"a":{}}', ("a",), b'{"a":{},"a":{"N":1}}'),
        (b'{"a":[{}]}', ("b", "*"), b'{"a":[{}]}'),
        (b"[{}]", ("*",), b"[{}]"),
    ],
)
def test_a_member_is_added_at_the_end_of_every_object_of_the_path(
    text: bytes, path: tuple[str, ...], expected: bytes
) -> None:
    assert add_member(text, MEMBER, [path]) == expected


NAMES = st.sampled_from(("a", "b", "N", "é", ""))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
)


@given(VALUES, st.lists(st.lists(NAMES | st.just("*"), max_size=3).map(tuple), max_size=3), st.booleans())
def test_compact_text_gets_the_members_that_other_text_gets(value, paths, ascii_):
    """A space at the end, which no compact text has, makes `add_member` look at tokens."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_).encode()
    assert add_member(text + b" ", MEMBER, paths) == add_member(text, MEMBER, paths) + b" "
