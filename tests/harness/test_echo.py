"""What the provider put on a block or an answer is judged only where it is exposed."""

from __future__ import annotations

import pytest

from streamconform.judge.compare import compare_outcome
from streamconform.judge.decode import MalformedError, decode_outcome
from streamconform.model.capability import CAPABILITIES
from streamconform.suite import expectation

CALL = {"type": "tool_call", "id": "a", "name": "f", "arguments": {}}
EXPECTED = {
    "status": "complete",
    "stop": "tool_use",
    "content": [
        {"thinking": {"text": "b", "echo": {"x": 1}}},
        {"text": {"text": "a", "echo": {"x": 1}}},
        {"tool_call": {"name": "f", "arguments": {}, "echo": {"namespace": "weather"}}},
    ],
    "echo": {"container": {"id": "c"}},
}


def compare(call, **answer):
    blocks = [{"type": "thinking", "text": "b"}, {"type": "text", "text": "a"}, CALL | call]
    seen = {"status": "complete", "stop": {"reason": "tool_use"}, "content": blocks} | answer
    checks = compare_outcome(expectation.parse(EXPECTED), decode_outcome(seen), CAPABILITIES, "must")
    return {check.path: check.verdict for check in checks if "echo" in check.path}


@pytest.mark.parametrize(
    ("call", "answer", "found"),
    [
        ({}, {}, {}),
        (
            {"echo": {"namespace": "weather", "new": 1}},
            {"echo": {"container": {"id": "c"}}},
            {"content.2.tool_call.echo": "pass", "echo": "pass"},
        ),
        ({"echo": {"namespace": "harbour"}}, {}, {"content.2.tool_call.echo": "fail"}),
        ({"echo": {}}, {"echo": {"container": None}}, {"content.2.tool_call.echo": "fail", "echo": "fail"}),
        ({"echo": None}, {}, {"content.2.tool_call.echo": "fail"}),
    ],
    ids=["not-exposed", "with-others", "another-value", "lost", "null"],
)
def test_it_is_judged_by_the_members_that_the_case_names(call, answer, found):
    assert compare(call, **answer) == found


@pytest.mark.parametrize(("call", "answer"), [({"echo": "weather"}, {}), ({}, {"echo": []})])
def test_it_is_an_object(call, answer):
    with pytest.raises(MalformedError):
        compare(call, **answer)
