"""For each rule, a stream that follows it, and streams that break only this rule."""

from __future__ import annotations

import pytest

from streamconform.judge import decode, invariants

from . import builders

OUTCOME, EVENTS = builders.TEXT_OUTCOME, list(builders.TEXT_EVENTS)
START, DELTA, DELTA2, END, DONE = EVENTS

CALL = {
    "type": "tool_call",
    "id": "a",
    "name": "f",
    "arguments": {},
    "arguments_text": "{}",
    "complete": True,
}
CALLS = OUTCOME | {"content": [CALL, CALL | {"id": "b"}]}


def called(index, **changes):
    final = CALL | {"id": "ab"[index]} | changes
    return {"type": "toolcall_end", "content_index": index, "tool_call": final}


def fragment(index, delta):
    return {"type": "toolcall_delta", "content_index": index, "delta": delta}


def begun(index):
    return {"type": "toolcall_start", "content_index": index, "id": "ab"[index], "name": "f"}


INTERLEAVED = [
    *(begun(0), begun(1), fragment(0, "{"), fragment(1, "{"), fragment(1, "}"), fragment(0, "}")),
    *(called(1), called(0), DONE),
]
SHORT_CALL = {key: value for key, value in CALL.items() if key != "arguments_text"}
LONG = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def streamed(type_, text, *deltas, **fields):
    """Return an outcome with one block, and the events of the block."""
    block = {"type": type_, "text": text, **fields}
    events = [{"type": f"{type_}_delta", "content_index": 0, "delta": delta} for delta in deltas]
    start, end = ({"type": f"{type_}_{which}", "content_index": 0} for which in ("start", "end"))
    return OUTCOME | {"content": [block]}, [start, *events, end | block | {"type": end["type"]}, DONE]


THOUGHT = OUTCOME | {"content": [{"type": "thinking", "text": "", "signature": "x", "redacted": True}]}
USAGE = {"type": "usage", "usage": OUTCOME.get("usage")}
CUT = OUTCOME | {"status": "incomplete", "stop": None}

KEPT = [
    ("text", OUTCOME, EVENTS),
    ("usage-between", OUTCOME, [START, USAGE, DELTA, DELTA2, END, USAGE, DONE]),
    ("interleaved", CALLS, INTERLEAVED),
    ("whole-calls", CALLS, [begun(0), called(0), begun(1), called(1), DONE]),
    ("cut", CUT, [START, DELTA, DELTA2, {"type": "error", "status": "incomplete"}]),
    ("redacted", THOUGHT, [{"type": "thinking_start", "content_index": 0}, DONE]),
    ("nothing", OUTCOME | {"content": []}, [DONE]),
    ("empty-text", *streamed("text", "")),
    ("thought", *streamed("thinking", "Hm.", "H", "m.")),
    (
        "hidden-thought",
        OUTCOME | {"content": [{"type": "thinking", "text": "Hm.", "redacted": True}]},
        [DONE],
    ),
    ("no-raw-stop-in-done", OUTCOME, [*EVENTS[:-1], {"type": "done", "stop": {"reason": "stop"}}]),
    (
        "arguments-text-only-in-the-end",
        OUTCOME | {"content": [SHORT_CALL]},
        [begun(0), {"type": "toolcall_end", "content_index": 0, "tool_call": CALL}, DONE],
    ),
    ("one-bucket-in-the-event", OUTCOME, [*EVENTS[:-1], {"type": "usage", "usage": {"output": 9}}, DONE]),
    ("one-bucket-in-the-outcome", OUTCOME | {"usage": {"output": 9}}, [*EVENTS[:-1], USAGE, DONE]),
    (
        "no-arguments-text-in-the-end",
        OUTCOME | {"content": [CALL]},
        [begun(0), {"type": "toolcall_end", "content_index": 0, "tool_call": SHORT_CALL}, DONE],
    ),
]
BROKEN = [
    ("one-terminal", "none", OUTCOME, EVENTS[:-1], "got 0"),
    ("one-terminal", "two", OUTCOME, [*EVENTS, DONE], "got 2"),
    (
        "one-terminal",
        "not-last",
        OUTCOME,
        [START, DELTA, DELTA2, END, DONE, USAGE],
        "1 events follow",
    ),
    ("one-terminal", "done-though-cut", CUT, EVENTS, "has the status `complete`"),
    ("one-terminal", "no-events", OUTCOME | {"content": []}, [], "got 0"),
    (
        "content-index",
        "beyond",
        OUTCOME,
        [*EVENTS[:-1], START | {"content_index": 1}, END | {"content_index": 1}, DONE],
        "content_index 1; the outcome has 1 block",
    ),
    ("delta-inside-block", "before-start", OUTCOME, [DELTA, START, DELTA2, END, DONE], "not open"),
    ("delta-inside-block", "after-end", OUTCOME, [START, DELTA, END, DELTA2, DONE], "not open"),
    ("delta-inside-block", "two-ends", OUTCOME, [START, DELTA, DELTA2, END, END, DONE], "ends block 0"),
    ("delta-inside-block", "two-starts", OUTCOME, [START, START, DELTA, DELTA2, END, DONE], "second time"),
    ("deltas-sum", "one-lost", OUTCOME, [START, DELTA, END, DONE], "the deltas of block 0"),
    ("deltas-sum", "one-twice", OUTCOME, [START, DELTA, DELTA, DELTA2, END, DONE], "the deltas of block 0"),
    ("deltas-sum", "order", OUTCOME, [START, DELTA2, DELTA, END, DONE], "the deltas of block 0"),
    ("deltas-sum", "no-deltas", OUTCOME, [START, END, DONE], "the deltas of block 0"),
    ("deltas-sum", "thought", *streamed("thinking", "Hm.", "H"), "join to 'H' (1 character)"),
    ("deltas-sum", "text-in-full", *streamed("text", LONG[:60], "x"), f"'{LONG[:60]}' (60 characters)"),
    (
        "deltas-sum",
        "text-abbreviated",
        *streamed("text", LONG[:61], "x"),
        f"'{LONG[:40]}…{LONG[46:61]}' (61 characters)",
    ),
    ("every-block-told", "no-text-events", OUTCOME, [DONE], "no event starts block 0 (text)"),
    ("every-block-told", "no-end-of-call", CALLS, [*INTERLEAVED[:-2], DONE], "no event ends the call"),
    (
        "start-equals-block",
        "late-id",
        CALLS,
        [begun(0) | {"id": "later"}, called(0), begun(1), called(1), DONE],
        "with id `later`",
    ),
    (
        "start-equals-block",
        "half-a-name",
        CALLS,
        [begun(0), called(0), begun(1) | {"name": None}, called(1), DONE],
        "the call `None`",
    ),
    (
        "last-usage",
        "counted-twice",
        OUTCOME,
        [START, DELTA, DELTA2, END, {"type": "usage", "usage": {"output": 18}}, DONE],
        "the last usage event",
    ),
    (
        "one-terminal",
        "other-raw-stop",
        OUTCOME,
        [*EVENTS[:-1], {"type": "done", "stop": {"reason": "stop", "raw": "max_tokens"}}],
        "`done` has",
    ),
    ("one-terminal", "other-stop", OUTCOME, [*EVENTS[:-1], {"type": "done", "stop": None}], "`done` has"),
    (
        "deltas-sum",
        "swapped-fragments",
        CALLS,
        [*INTERLEAVED[:2], fragment(0, "{{"), fragment(1, "}}"), called(0), called(1), DONE],
        "0",
    ),
    (
        "end-equals-block",
        "other-text",
        OUTCOME,
        [START, DELTA, DELTA2, END | {"text": "x"}, DONE],
        "a value that differs",
    ),
    (
        "end-equals-block",
        "other-call",
        CALLS,
        [*INTERLEAVED[:-2], called(0, name="g"), DONE],
        "a value that differs",
    ),
]


def broken(outcome, events):
    read = decode.decode_outcome(outcome), decode.decode_events(events)
    return {name: problem for name, rule in invariants.EVENT_RULES.items() if (problem := rule(*read))}


@pytest.mark.parametrize(("outcome", "events"), [row[1:] for row in KEPT], ids=[row[0] for row in KEPT])
def test_a_good_stream_breaks_no_rule(outcome, events):
    assert broken(outcome, events) == {}


@pytest.mark.parametrize(
    ("rule", "outcome", "events", "says"),
    [(row[0], *row[2:]) for row in BROKEN],
    ids=[f"{row[0]}-{row[1]}" for row in BROKEN],
)
def test_a_broken_stream_breaks_the_rule_that_is_meant(rule, outcome, events, says):
    found = broken(outcome, events)
    assert set(found) == {rule}
    assert says in found[rule]


def test_every_rule_has_a_stream_that_breaks_it():
    assert {row[0] for row in BROKEN} == set(invariants.EVENT_RULES)


def test_an_event_of_another_type_than_its_block_breaks_the_index():
    assert "content-index" in broken(CALLS, EVENTS)


IDS = [
    ([CALL, CALL | {"id": "b"}], None),
    ([CALL, CALL], "two tool calls have the id"),
    ([CALL | {"id": ""}, CALL | {"id": ""}], "two tool calls have the id"),
    ([CALL | {"id": None}, CALL | {"id": None}], None),
    ([], None),
]


@pytest.mark.parametrize(("content", "says"), IDS)
def test_ids_that_are_given_are_unique(content, says):
    message = invariants.check_unique_ids(decode.decode_outcome(OUTCOME | {"content": content}))
    assert message is says or says in message
