"""Every documented form of a tool result passes in Cohere's cases."""

from __future__ import annotations

import json

import pytest

from streamconform.judge.request import compare_request
from streamconform.model.case import RoundTripCase

from ..bundled_suite import cases

RESULT = {"id": 7, "gespeichert": True, "wo": None}
SORTED = json.dumps(RESULT, sort_keys=True, separators=(",", ":"))
INDENTED = json.dumps(RESULT, indent=2)
FORMS = {
    "sorted text": SORTED,
    "indented text": [{"type": "text", "text": INDENTED}],
    "document with an id": [{"type": "document", "document": {"id": "doc:1", "data": RESULT}}],
    "document with text": [{"type": "document", "document": {"id": "doc:1", "data": INDENTED}}],
}


def check_result(content):
    """Return the failed checks for a request whose tool result has this content."""
    case = next(
        case for case in cases() if case.id == "cohere-chat/round-trips/escaped-arguments-json-result"
    )
    assert isinstance(case, RoundTripCase)
    arguments = {"text": 'Übergabe 👩‍🚀 "ja"\n東京', "n": [1, -0.5, None], "deep": {"": True}}
    call = {"id": "note_e5", "type": "function"}
    call["function"] = {"name": "note", "arguments": json.dumps(arguments)}
    messages = [
        {"role": "user", "content": "Note it down."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "note_e5", "content": content},
    ]
    checks = compare_request("cohere-chat", case.requests[0], {"body": {"messages": messages}}, "must")
    return {check.path for check in checks if check.verdict != "pass"}


@pytest.mark.parametrize("form", FORMS)
def test_a_json_result_may_be_a_document_or_text_in_any_spelling(form):
    assert check_result(FORMS[form]) == set()


@pytest.mark.parametrize("content", ["{'id': 7, 'gespeichert': True, 'wo': None}", '{"id":8}', []])
def test_another_value_or_notation_is_not_a_json_result(content):
    assert check_result(content) == {"body.messages.2.content"}
