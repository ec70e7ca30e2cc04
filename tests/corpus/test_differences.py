"""How two outcomes of the same bytes differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest

from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import NOTHING_EXPECTED, Case
from streamconform.model.cassette import Cassette, Derived, Request
from streamconform.model.outcome import Error, Other, Outcome, Stop, Text, Thinking, ToolCall, Usage
from streamconform_capture.compare.findings import Answers, find_findings

CALL = ToolCall(id="toolu_1", name="f", arguments={"a": 1}, arguments_text='{"a": 1}', complete=True)
OUTCOME = Outcome(
    status="complete",
    content=(Thinking("hm", "sig"), Text("Hello there"), CALL),
    stop=Stop("tool_use", "tool_use"),
    usage=Usage(input=10, output=5),
    model="m",
)


def content(*blocks):
    return replace(OUTCOME, content=blocks)


def call(**fields):
    return content(*OUTCOME.content[:2], replace(CALL, **fields))


def text(given):
    return content(OUTCOME.content[0], Text(given), CALL)


CASE = Case(
    id="a.sse",
    api="anthropic-messages",
    title="a.sse",
    cassette=Cassette(
        api="anthropic-messages",
        name="a",
        request=Request(method="POST", path="/", headers={}, body={}),
        status=200,
        headers={},
        body=b'{"id": "toolu_1"}',
        suffix="sse",
        marks=(),
        provenance=Derived("a.sse", "made up"),
    ),
    expect=NOTHING_EXPECTED,
)


@dataclass(frozen=True)
class Parted:
    other: Outcome
    found: list[tuple[str, str]]
    """Path and headline."""
    between: bool = True
    """Whether it counts as a difference between two implementations; between deliveries, it always does."""


PARTED = {
    "nothing": Parted(OUTCOME, []),
    "status": Parted(replace(OUTCOME, status="incomplete"), [("status", "Reports a complete stream as cut")]),
    "reason": Parted(
        replace(OUTCOME, stop=Stop("stop", "tool_use")),
        [("stop.reason", "Reports a wrong stop reason")],
    ),
    "text cut": Parted(text("Hello"), [("content.1.text", "Truncates text")]),
    "text empty": Parted(text(""), [("content.length", "Loses text")]),
    "text doubled": Parted(text("Hello thereHello there"), [("content.1.text", "Repeats text")]),
    "text without start": Parted(text("there"), [("content.1.text", "Loses the beginning of text")]),
    "text with a lead": Parted(text("> Hello there"), [("content.1.text", "Adds extra content to text")]),
    "white space": Parted(text("Hello\nthere"), [("content.1.text", "Changes text")]),
    "broken character": Parted(text("Hello the\ufffde"), [("content.1.text", "Garbles characters in text")]),
    "text": Parted(text("Good bye"), [("content.1.text", "Changes text")]),
    "text in two blocks": Parted(content(OUTCOME.content[0], Text("Hello "), Text("there"), CALL), []),
    "no call": Parted(content(*OUTCOME.content[:2]), [("content.length", "Loses tool calls")]),
    "order": Parted(
        content(OUTCOME.content[0], CALL, Text("Hello there")),
        [("content.1.text", "Reports the blocks in a different order")],
    ),
    "arguments": Parted(
        call(arguments={"a": 2}), [("content.2.tool_call.arguments", "Returns a call with wrong arguments")]
    ),
    "arguments as text": Parted(
        call(arguments='{"a": 1}'),
        [("content.2.tool_call.arguments", "Returns arguments as unparsed text")],
    ),
    "no arguments": Parted(
        call(arguments=None), [("content.2.tool_call.arguments", "Loses the arguments of a call")]
    ),
    "numbers by value": Parted(call(arguments={"a": 1.0}), []),
    "a boolean is no number": Parted(
        call(arguments={"a": True}),
        [("content.2.tool_call.arguments", "Returns a call with wrong arguments")],
    ),
    "incomplete": Parted(
        call(complete=False), [("content.2.tool_call.complete", "Does not mark a finished call as complete")]
    ),
    "id": Parted(call(id="call_9"), [("content.2.tool_call.id", "Reports a different id for a call")]),
    "usage": Parted(
        replace(OUTCOME, usage=Usage(input=10, output=9)), [("usage.output", "Reports too many tokens")]
    ),
    "usage lost": Parted(replace(OUTCOME, usage=Usage(output=5)), [("usage.input", "Loses usage")]),
    "error": Parted(
        replace(OUTCOME, error=Error("x")), [("error", "Reports an error along with a complete answer")]
    ),
    "model hidden": Parted(
        replace(OUTCOME, model=None), [("model", "Does not expose `model`")], between=False
    ),
    "raw reason hidden": Parted(
        replace(OUTCOME, stop=Stop("tool_use")),
        [("stop.raw", "Does not expose the provider's own stop reason")],
        between=False,
    ),
    "arguments text hidden": Parted(call(arguments_text=None), []),
    "another kind of block": Parted(content(*OUTCOME.content, Other("image", {})), [], between=False),
}


def answers(claims, **outcomes):
    return Answers(claims, (), outcomes, len(outcomes), Counter())


def parted(one, other, claims=CAPABILITIES, case=CASE, *, same):
    given = (
        [answers(claims, whole=one, random=other)]
        if same
        else [answers(claims, whole=one), answers(claims, whole=other)]
    )
    return [(each.path, each.what) for each in find_findings(case, given, ("one", "two"))]


@pytest.mark.parametrize("name", PARTED)
def test_two_implementations_part(name):
    given = PARTED[name]
    assert parted(OUTCOME, given.other, same=False) == (given.found if given.between else [])


@pytest.mark.parametrize("name", [name for name in PARTED if name != "a boolean is no number"])
def test_two_deliveries_part(name):
    given = PARTED[name]
    assert parted(OUTCOME, given.other, same=True) == given.found


def test_only_what_both_claim_is_compared():
    other = replace(content(Text("Hello there")), usage=Usage())
    assert parted(OUTCOME, other, frozenset(), same=False) == []
    assert parted(OUTCOME, other, frozenset({"tool_calls"}), same=False) == [
        ("content.length", "Loses tool calls")
    ]


def test_ids_that_the_recording_does_not_have_may_differ():
    one, other = call(id="call_1"), call(id="call_f00")
    without, with_id = (
        replace(CASE, cassette=replace(CASE.cassette, body=body)) for body in (b"{}", b'{"id": "call_1"}')
    )
    assert parted(one, other, case=without, same=False) == []
    assert parted(one, other, case=with_id, same=False) != []
