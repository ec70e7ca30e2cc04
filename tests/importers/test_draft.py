"""Drafts pass with their own cassette, regardless of the stream's contents."""

from __future__ import annotations

import pytest

from streamconform.judge.compare import compare_outcome
from streamconform.model.capability import CAPABILITIES
from streamconform.model.outcome import Outcome, Text, Thinking, ToolCall
from streamconform.resources import find_bundled
from streamconform.suite import cassettes, expectation
from streamconform.yaml_text import reader
from streamconform_capture.record import draft

from ..bundled_suite import sample
from ..harness.builders import cassette

BUNDLED = sorted((path.parent.name, path.stem) for path in find_bundled("cassettes").glob("*/*.yaml"))
APIS = sorted({api for api, _ in BUNDLED})


@pytest.mark.parametrize("api", APIS)
def test_the_reference_fulfils_every_draft_that_is_made_of_it(tmp_path, api):
    for name in sample([name for home, name in BUNDLED if home == api]):
        given = cassettes.load(find_bundled("cassettes"), api, name)
        text = draft.compose_spec(tmp_path, given, "imported", "A stream that was imported")
        (case,) = reader.parse(text.encode(), name).value["cases"]
        assert case["reviewed"] is False
        expect = expectation.parse(case["expect"])
        checks = compare_outcome(expect, draft.decode_cassette(given), CAPABILITIES, "must")
        assert [(name, each.path) for each in checks if each.verdict != "pass"] == []


def test_an_id_that_the_parser_made_up_is_not_expected():
    call = ToolCall(id="call_1", name="f", arguments={}, complete=True)
    outcome = Outcome(status="complete", content=(call,))
    assert draft.build_expect(outcome, b"{}")["content"] == [{"tool_call": {"name": "f", "arguments": {}}}]
    named = draft.build_expect(outcome, b'{"id": "call_1"}')["content"]
    assert named == [{"tool_call": {"name": "f", "id": "call_1", "arguments": {}}}]


def test_a_call_that_had_not_ended_and_one_that_the_provider_runs_say_so():
    cut = ToolCall(name="f", arguments=None, complete=False)
    own = ToolCall(name="g", arguments={}, complete=True, executor="provider")
    found = draft.build_expect(Outcome(status="incomplete", content=(cut, own)), b"")
    assert found["content"] == [
        {"tool_call": {"name": "f", "complete": False}},
        {"tool_call": {"name": "g", "arguments": {}, "executor": "provider"}},
    ]


def test_thinking_is_short_where_nothing_but_its_text_is_known():
    blocks = (Thinking("a"), Text("x"), Thinking("b", "sig"), Thinking("", "data", redacted=True))
    found = draft.build_expect(Outcome(status="complete", content=blocks), b"")
    assert found["content"] == [
        {"thinking": "a"},
        {"text": "x"},
        {"thinking": {"text": "b", "signature": "sig"}},
        {"thinking": {"text": "", "signature": "data", "redacted": True}},
    ]


def test_an_api_that_the_reference_does_not_read_makes_no_draft(monkeypatch):
    monkeypatch.setattr("streamconform_reference.adapter.apis", [])
    with pytest.raises(draft.DraftRefused, match="does not support anthropic-messages"):
        draft.decode_cassette(cassette())
