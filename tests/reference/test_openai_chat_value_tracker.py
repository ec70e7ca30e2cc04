"""Detecting whether a growing text is complete JSON, compared with parsing it each time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_reference import DECODERS
from streamconform_reference.apis.openai_chat.value_tracker import ValueTracker
from streamconform_reference.json_text import codec

VALUES = st.recursive(
    st.booleans() | st.integers() | st.text('a"\\{}[], é😀'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('a"\\{}'), inner),
)
NOISE = st.text('a1"\\{}[], ', max_size=12)


def prefixes(text: str, cuts: list[int]) -> list[str]:
    return [text[:cut] for cut in sorted(cuts)] + [text]


@given(VALUES.map(json.dumps) | NOISE, NOISE, st.lists(st.integers(0, 60)))
def test_it_agrees_with_the_parser_on_every_prefix(text, more, cuts):
    follower = ValueTracker()
    for beginning in prefixes(text + more, cuts):
        assert follower.is_whole(beginning) == codec.is_json(beginning.encode())


@pytest.mark.parametrize("pieces", [(r'{"a":"\\', '"}'), ('{"a":"\\', '""}'), ('"\\', "\\", '"')])
def test_an_escape_may_be_cut_from_its_character(pieces):
    follower = ValueTracker()
    answers = [follower.is_whole("".join(pieces[: i + 1])) for i in range(len(pieces))]
    assert answers == [False] * (len(pieces) - 1) + [True]


def test_arguments_under_ever_new_indexes_are_parsed_when_they_are_whole_and_not_before(monkeypatch):
    """Some gateways number the fragments of one call as if each were a call."""
    parsed = []
    is_json = codec.is_json
    monkeypatch.setattr(codec, "is_json", lambda data: parsed.append(data) or is_json(data))
    whole = json.dumps({"content": 'print("{")\n' * 50})
    decoder = DECODERS["openai-chat"]()
    for index, piece in enumerate(whole):
        entry = {"index": index, "id": "call_1", "function": {"name": "write", "arguments": piece}}
        chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]}
        decoder.receive_data(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    decoder.receive_data(b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n')
    decoder.receive_eof()
    (call,) = decoder.outcome.to_json()["content"]
    assert call["arguments_text"] == whole
    assert len(parsed) <= 1
