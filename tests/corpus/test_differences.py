"""How two outcomes of the same bytes part."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from streamconform.model.capability import CAPABILITIES
from streamconform.model.outcome import Error, Other, Outcome, Stop, Text, Thinking, ToolCall, Usage
from streamconform.tools.compare.differences import find_differences

CALL = ToolCall(id="toolu_1", name="f", arguments={"a": 1}, arguments_text='{"a": 1}', complete=True)
OUTCOME = Outcome(
    status="complete",
    content=(Thinking("hm", "sig"), Text("Hello there"), CALL),
    stop=Stop("tool_use", "tool_use"),
    usage=Usage(input=10, output=5),
    model="m",
)
BODY = b'{"id": "toolu_1"}'


def content(*blocks):
    return replace(OUTCOME, content=blocks)


def call(**fields):
    return content(*OUTCOME.content[:2], replace(CALL, **fields))


def text(given):
    return content(OUTCOME.content[0], Text(given), CALL)


@dataclass(frozen=True)
class Parted:
    other: Outcome
    found: list[tuple[str, str]]
    between: bool = True
    """Whether two implementations may be told apart by it; deliveries of one always are."""


PARTED = {
    "nothing": Parted(OUTCOME, []),
    "status": Parted(replace(OUTCOME, status="incomplete"), [("status", "complete -> incomplete")]),
    "reason": Parted(replace(OUTCOME, stop=Stop("stop", "tool_use")), [("stop.reason", "tool_use -> stop")]),
    "text cut": Parted(text("Hello"), [("content.1.text", "the end is lost")]),
    "text empty": Parted(text(""), [("content.length", "lacks text")]),
    "text doubled": Parted(text("Hello thereHello there"), [("content.1.text", "more at the end")]),
    "text without start": Parted(text("there"), [("content.1.text", "the beginning is lost")]),
    "text with a lead": Parted(text("> Hello there"), [("content.1.text", "more at the beginning")]),
    "white space": Parted(text("Hello\nthere"), [("content.1.text", "other white space")]),
    "broken character": Parted(text("Hello the\ufffde"), [("content.1.text", "characters became U+FFFD")]),
    "text": Parted(text("Good bye"), [("content.1.text", "another text")]),
    "text in two blocks": Parted(content(OUTCOME.content[0], Text("Hello "), Text("there"), CALL), []),
    "no call": Parted(content(*OUTCOME.content[:2]), [("content.length", "lacks tool_call")]),
    "order": Parted(
        content(OUTCOME.content[0], CALL, Text("Hello there")),
        [("content.1.text", "the blocks come in another order")],
    ),
    "arguments": Parted(call(arguments={"a": 2}), [("content.2.tool_call.arguments", "another value")]),
    "arguments as text": Parted(
        call(arguments='{"a": 1}'), [("content.2.tool_call.arguments", "object -> text")]
    ),
    "no arguments": Parted(call(arguments=None), [("content.2.tool_call.arguments", "a value -> null")]),
    "numbers by value": Parted(call(arguments={"a": 1.0}), []),
    "a boolean is no number": Parted(
        call(arguments={"a": True}), [("content.2.tool_call.arguments", "another value")]
    ),
    "incomplete": Parted(call(complete=False), [("content.2.tool_call.complete", "true -> false")]),
    "id": Parted(call(id="call_9"), [("content.2.tool_call.id", "another text")]),
    "usage": Parted(replace(OUTCOME, usage=Usage(input=10, output=9)), [("usage.output", "larger")]),
    "usage lost": Parted(replace(OUTCOME, usage=Usage(output=5)), [("usage.input", "a value -> null")]),
    "error": Parted(replace(OUTCOME, error=Error("x")), [("error", "null -> a value")]),
    "model hidden": Parted(replace(OUTCOME, model=None), [("model", "a value -> null")], between=False),
    "raw reason hidden": Parted(
        replace(OUTCOME, stop=Stop("tool_use")), [("stop.raw", "a value -> null")], between=False
    ),
    "arguments text hidden": Parted(call(arguments_text=None), []),
    "another kind of block": Parted(content(*OUTCOME.content, Other("image", {})), [], between=False),
}


def parted(one, other, claims=CAPABILITIES, body=BODY, *, same):
    found = find_differences(one, other, claims, body, same_implementation=same)
    return [(each.path, each.how) for each in found]


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
        ("content.length", "lacks tool_call")
    ]


def test_ids_that_the_recording_does_not_have_may_differ():
    one, other = call(id="call_1"), call(id="call_f00")
    assert parted(one, other, body=b"{}", same=False) == []
    assert parted(one, other, body=b'{"id": "call_1"}', same=False) != []


def test_a_kind_has_no_positions():
    (found,) = find_differences(OUTCOME, text("Hi"), CAPABILITIES, BODY, same_implementation=False)
    assert (found.path, found.kind) == ("content.1.text", "content.*.text")
