"""Healing tool arguments to an object: JSON of an object is never changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_reference import heal_tool_arguments

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("\"\\'{}\n\t/u"), max_size=12)
OBJECTS = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none() | st.booleans() | st.integers() | TEXTS, lambda inner: st.lists(inner, max_size=3)
    ),
    max_size=4,
)


@given(OBJECTS)
def test_an_object_is_itself(arguments: dict[str, Any]) -> None:
    assert heal_tool_arguments(arguments) is arguments


@given(OBJECTS, st.booleans(), st.sampled_from([None, 2]))
def test_json_text_is_never_changed(arguments: dict[str, Any], ascii_only: bool, indent: int | None) -> None:  # noqa: FBT001
    assert heal_tool_arguments(json.dumps(arguments, ensure_ascii=ascii_only, indent=indent)) == arguments


@given(OBJECTS, st.booleans())
def test_text_that_was_escaped_once_too_often_is_the_object(
    arguments: dict[str, Any],
    ascii_only: bool,  # noqa: FBT001
) -> None:
    text = json.dumps(arguments)
    escaped = json.dumps(text, ensure_ascii=ascii_only)
    assert heal_tool_arguments(escaped) == arguments
    assert heal_tool_arguments(escaped[1:-1]) == arguments


@given(st.text())
def test_no_text_raises_and_unhealed_text_is_kept(text: str) -> None:
    healed = heal_tool_arguments(text)
    assert isinstance(healed, dict)
    if healed.keys() == {"raw"} and healed["raw"] != text:
        assert json.loads(text.strip() or "{}")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 1000, '"' * 1001, "\\" * 1001, '{"a":NaN}', "1e999"]
)
def test_hostile_text_is_kept(text: str) -> None:
    assert heal_tool_arguments(text) == {"raw": text}


def test_text_inside_text_is_looked_for_a_few_layers_deep() -> None:
    text = '{"a":1}'
    for _ in range(2):
        text = json.dumps(text)
    assert heal_tool_arguments(text) == {"a": 1}
    for _ in range(20):
        text = json.dumps(text)[:4000]
    assert heal_tool_arguments(text) == {"raw": text}
