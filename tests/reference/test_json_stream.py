"""The value of truncated JSON does not depend on the cuts, only grows, and ends as the complete value."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_reference.json_text.incremental import MAX_DEPTH, MAX_NUMBER, JsonStream, partial_value

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\/{}[]:,\n\t 😀é'), max_size=12)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
STYLES = st.fixed_dictionaries({"ensure_ascii": st.booleans(), "indent": st.sampled_from([None, 1])})


def read(pieces: Any) -> JsonStream:
    stream = JsonStream()
    for piece in pieces:
        stream.add(piece)
    return stream


def grows(before: Any, after: Any) -> bool:
    """Whether a value may follow another, which it must extend, except that numbers and nulls may change."""
    match before, after:
        case dict(), dict():
            return all(key in after and grows(value, after[key]) for key, value in before.items())
        case list(), list():
            return len(before) <= len(after) and all(map(grows, before, after))
        case str(), str():
            return after.startswith(before)
        case (int() | float(), int() | float()):
            return isinstance(before, bool) == isinstance(after, bool)
        case _:
            return before is None or before == after


@given(VALUES, STYLES)
def test_the_whole_text_has_the_value_that_a_parser_gives_it(value: Any, style: dict[str, Any]) -> None:
    text = json.dumps(value, **style)
    stream = read(text)
    assert stream.value() == json.loads(text)
    assert stream.complete
    assert not stream.broken


@given(VALUES, STYLES)
def test_the_value_only_grows_and_is_never_a_mistake(value: Any, style: dict[str, Any]) -> None:
    text = json.dumps(value, **style)
    stream, before = JsonStream(), None
    for character in text:
        stream.add(character)
        after = stream.value()
        assert grows(before, after)
        assert not stream.broken
        before = after


@given(VALUES, STYLES, st.lists(st.integers(min_value=0, max_value=400), max_size=6))
def test_the_value_does_not_depend_on_the_chunks(value: Any, style: dict[str, Any], cuts: list[int]) -> None:
    text = json.dumps(value, **style)
    for end in range(0, len(text) + 1, 3):
        edges = sorted({0, end, *(cut for cut in cuts if cut < end)})
        pieces = [text[one:other] for one, other in pairwise(edges)]
        assert read(pieces).value() == partial_value(text[:end])


@given(st.text(alphabet='{}[]:,"\\ud83e019.+-eEtrufalsn x\n', max_size=60))
def test_no_text_raises_and_every_cut_of_it_gives_the_same(text: str) -> None:
    whole, single = read([text]), read(text)
    assert repr(whole.value()) == repr(single.value())
    assert (whole.broken, whole.complete) == (single.broken, single.complete)
    if whole.complete:
        assert repr(whole.value()) == repr(json.loads(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1e999}', {}),
        ('{"a":01}', {"a": 0}),
        ('{"a":NaN}', {}),
        ('{"a":"x\n"}', {"a": "x"}),
        ('{"a":"x\\q"}', {"a": "x"}),
        ("[1,]", [1]),
        ("[1]]", [1]),
        ('{"a":1,}', {"a": 1}),
        ("nullx", None),
        ("[" + "9" * (MAX_NUMBER + 1) + "]", []),
    ],
)
def test_a_syntax_error_ends_the_parsing_and_keeps_the_earlier_value(text: str, value: Any) -> None:
    stream = read([text, ',"b":2}'])
    assert stream.value() == value
    assert stream.broken
    assert not stream.complete


def test_a_lone_surrogate_appears_once_no_second_half_can_follow() -> None:
    assert partial_value(r'"a\ud83d') == "a"
    assert partial_value(r'"a\ud83dx') == "a\ud83dx"
    assert partial_value(r'"a\ud83d\u0041') == "a\ud83dA"
    assert partial_value(r'"a\ude00') == "a\ude00"


def test_nesting_is_bounded() -> None:
    deepest: Any = []
    for _ in range(MAX_DEPTH - 1):
        deepest = [deepest]
    assert read(["[" * MAX_DEPTH]).value() == deepest
    beyond = read(["[" * 100_000])
    assert beyond.value() == deepest
    assert beyond.broken


def test_a_number_at_the_end_may_continue_and_is_already_complete() -> None:
    assert read(["12"]).complete
    assert not read(["12."]).complete
    assert read(["12.", "5"]).value() == 12.5


def test_open_containers_are_copies() -> None:
    stream = read(['{"a":[1,'])
    before = stream.value()
    stream.add('2,"b"]')
    assert before == {"a": [1]}
    assert stream.value() == {"a": [1, 2, "b"]}


@given(VALUES, STYLES)
def test_nothing_is_read_again_but_an_escape_that_was_cut(value: Any, style: dict[str, Any]) -> None:
    stream = JsonStream()
    for character in json.dumps(value, **style):
        stream.add(character)
        assert len(stream._held) < len(r"\ud83d\ude00")
        assert not stream._held or stream._held.startswith("\\")
