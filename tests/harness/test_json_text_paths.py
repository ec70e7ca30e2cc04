"""New members are added at paths through objects and arrays."""

from __future__ import annotations

import pytest
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
    ],
)
def test_a_member_is_added_at_the_end_of_every_object_of_the_path(
    text: bytes, path: tuple[str, ...], expected: bytes
) -> None:
    assert add_member(text, MEMBER, [path]) == expected
