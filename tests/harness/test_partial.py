"""Content of broken streams: each wrong value fails one check, and prefixes pass."""

from __future__ import annotations

import pytest
from streamconform.adapters.interface import Observation
from streamconform.judge.judge import judge
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import Expectation, Partial
from streamconform.model.leaf import Literally
from streamconform.model.trial import Trial
from streamconform.suite import expectation

from . import builders

WHOLE = expectation.parse(
    {
        "status": "complete",
        "stop": "tool_use",
        "content": [
            {"thinking": {"text": "Two cities.", "signature": "c2ln"}},
            {"text": "I'll check both."},
            {"tool_call": {"name": "get_weather", "id": "toolu_1", "arguments": {"city": "Paris"}}},
            {"tool_call": {"name": "get_weather", "id": "toolu_2", "arguments": {"city": "Oslo"}}},
        ],
    }
)
BROKEN = Expectation(
    WHOLE.content, {"status": Literally("incomplete"), "stop.reason": Literally(None)}, Partial(calls_ended=1)
)
PARIS = {
    "type": "tool_call",
    "id": "toolu_1",
    "name": "get_weather",
    "arguments": {"city": "Paris"},
    "complete": True,
}
OSLO = {**PARIS, "id": "toolu_2", "arguments": {"city": "Oslo"}}
OPEN = {**OSLO, "arguments": None, "arguments_text": '{"ci', "complete": False}
TEXT = {"type": "text", "text": "I'll check both."}

TRUE = {
    "nothing": [],
    "the beginning of a thought": [{"type": "thinking", "text": "Two"}],
    "a thought that is not signed yet": [{"type": "thinking", "text": "Two cities."}, TEXT],
    "one call ended, one open": [TEXT, PARIS, OPEN],
    "a call that nobody calls complete": [TEXT, {**PARIS, "arguments": None, "complete": False}],
    "a name that has not come yet": [TEXT, {**OPEN, "name": None}],
}
UNTRUE = {
    "content.1.text": [{"type": "text", "text": "I'll check them."}],
    "content.length": [TEXT, PARIS, {**OPEN}, {**OPEN, "id": "toolu_3"}],
    "content.complete_calls": [TEXT, PARIS, OSLO],
    "content.2.tool_call.arguments": [TEXT, {**PARIS, "arguments": {"city": "Par"}}],
    "content.2.tool_call.name": [TEXT, {**OPEN, "name": "get_time"}],
    "content.0.thinking.signature": [{"type": "thinking", "text": "Two", "signature": "x"}],
}


def judged(content, **more):
    case = builders.case()
    trial = Trial(case, "cut-after-frame.3", "must", (case.cassette.body[:200],), BROKEN)
    answer = Observation({"status": "incomplete", "content": content} | more)
    return judge(trial, answer, CAPABILITIES - {"events"}, lambda _: None)


@pytest.mark.parametrize("said", TRUE)
def test_a_prefix_of_the_whole_content_passes(said):
    assert judged(TRUE[said]).verdict == "pass"


@pytest.mark.parametrize("path", UNTRUE)
def test_content_that_is_not_a_prefix_fails_at_its_path(path):
    found = judged(UNTRUE[path])
    assert found.verdict == "fail"
    assert path in [check.path for check in found.checks]


def test_a_broken_stream_that_is_called_complete_fails():
    found = judged([TEXT], status="complete", stop={"reason": "stop", "raw": "end_turn"})
    assert [check.path for check in found.checks] == ["status", "stop.reason"]
