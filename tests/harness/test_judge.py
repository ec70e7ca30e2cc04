"""Whatever comes back: verdict, culprit, checks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamconform.adapters.interface import Errored, Hang, Observation, ProtocolFault, Raised, Skipped
from streamconform.adapters.protocol import RAISED_OUTCOME
from streamconform.judge.judge import explain_unclaimed, judge, serialize_answer
from streamconform.model.capability import CAPABILITIES

from . import builders

ALL = CAPABILITIES
OUTCOME, EVENTS = builders.TEXT_OUTCOME, list(builders.TEXT_EVENTS)
GOOD = Observation(OUTCOME, EVENTS)
RAISED = Raised("openai.APIError", "overloaded", "openai/_streaming.py:61 in __stream__")
TRIAL = builders.trial()


def judged(answer, *, trial=TRIAL, claims=ALL, first_delta=None):
    return judge(trial, answer, claims, lambda _: first_delta)


ANSWERS = [
    ("good", GOOD, "pass", None),
    ("wrong", Observation(OUTCOME | {"status": "error"}, EVENTS), "fail", "implementation"),
    ("malformed-outcome", Observation({"status": "done"}, EVENTS), "fail", "adapter"),
    ("no-outcome", Observation(None, EVENTS), "fail", "adapter"),
    ("events-do-not-come", Observation(OUTCOME), "fail", "adapter"),
    ("events-are-no-list", Observation(OUTCOME, {}), "fail", "adapter"),
    ("malformed-event", Observation(OUTCOME, [*EVENTS, {"type": "end"}]), "fail", "adapter"),
    ("skipped", Skipped("cannot"), "fail", "adapter"),
    ("errored", Errored("KeyError: 'delta'"), "faulted", "adapter"),
    ("fault", ProtocolFault("exited", "exit code 1"), "faulted", "adapter"),
    ("hang", Hang(2.5), "hang", "implementation"),
    ("raised", Observation(RAISED_OUTCOME, raised=RAISED), "fail", "implementation"),
    ("raised-at-the-end", Observation(OUTCOME, EVENTS, raised=RAISED), "pass", None),
]


@pytest.mark.parametrize(
    ("answer", "verdict", "culprit"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS]
)
def test_an_answer_has_a_verdict_and_a_culprit(answer, verdict, culprit):
    found = judged(answer)
    assert (found.verdict, found.culprit) == (verdict, culprit)
    assert bool(found.checks) == (isinstance(answer, Observation) and verdict != "pass")


REASONS = [
    (Skipped("cannot"), "skipped a trial that its claims include: cannot"),
    (Errored("oh"), "oh"),
    (ProtocolFault("exited", "exit code 1"), "exited: exit code 1"),
    (Hang(2.5), "no answer in 2.5 s; flush stdout after each line, or raise `--timeout`"),
]


@pytest.mark.parametrize(("answer", "reason"), REASONS, ids=str)
def test_a_missing_answer_has_a_reason(answer, reason):
    assert judged(answer).reason == reason


@pytest.mark.parametrize(
    ("answer", "path", "says"),
    [
        (
            Observation({"status": "done", "content": []}, []),
            "outcome-schema",
            'status: `"done"` is not one of',
        ),
        (Observation(OUTCOME), "event-schema", "the implementation claims `events` but sent none"),
        (Observation(OUTCOME, [{"type": "end"}]), "event-schema", 'event 0: type: `"end"`'),
    ],
    ids=["outcome", "no-events", "event"],
)
def test_a_malformed_answer_gets_one_check_with_the_message_of_the_schema(answer, path, says):
    (check,) = judged(answer).checks
    assert check.path == f"invariant.{path}"
    assert says in check.message


def test_events_that_are_not_claimed_are_not_even_read():
    assert judged(Observation(OUTCOME, "nonsense"), claims=ALL - {"events"}).verdict == "pass"


@pytest.mark.parametrize(("level", "verdict"), [("must", "fail"), ("should", "warn"), ("may", "pass")])
def test_the_level_of_the_trial_decides_the_verdict_of_a_difference(level, verdict):
    trial = builders.trial(builders.case(level=level))
    found = judged(Observation(OUTCOME | {"status": "error"}, EVENTS), trial=trial)
    assert found.verdict == verdict
    assert {check.path for check in found.checks} == {"status", "invariant.one-terminal"}


def test_checks_that_pass_are_a_count():
    """Status, stop, text, length, two buckets and error; ids and eight rules about events."""
    found = judged(GOOD)
    assert found.checks == ()
    assert found.passed == 7 + 1 + 8


CHUNKS = (b"a" * 10, b"b" * 10, b"c" * 10)
STREAMING = [
    ("in-time", CHUNKS, (1, 1, 2, 3, 3), 5, "pass"),
    ("at-the-last-moment", CHUNKS, (1, 2, 3, 3, 3), 5, "pass"),
    ("late", CHUNKS, (3, 3, 3, 3, 3), 5, "fail"),
    ("frame-ends-before-the-last-chunk", CHUNKS, (3, 3, 3, 3, 3), 20, "fail"),
    ("frame-ends-in-the-last-chunk", CHUNKS, (3, 3, 3, 3, 3), 21, "pass"),
    ("nobody-knows-the-frame", CHUNKS, (3, 3, 3, 3, 3), None, "pass"),
    ("one-chunk", CHUNKS[:1], (1, 1, 1, 1, 1), 5, "pass"),
    ("nobody-counts", CHUNKS, None, 5, "pass"),
    ("too-few-counts", CHUNKS, (3,), 5, "pass"),
]


@pytest.mark.parametrize(
    ("chunks", "taken", "ends", "verdict"),
    [row[1:] for row in STREAMING],
    ids=[row[0] for row in STREAMING],
)
def test_the_first_delta_is_emitted_before_the_last_chunk_is_read(chunks, taken, ends, verdict):
    found = judged(Observation(OUTCOME, EVENTS, taken), trial=builders.trial(chunks=chunks), first_delta=ends)
    assert found.verdict == verdict
    assert [check.path for check in found.checks] == ["invariant.streaming"] * (verdict == "fail")


THOUGHT_AND_TEXT = builders.TEXT_EXPECT | {"content": [{"thinking": "Hm."}, {"text": "hello"}]}
SIGNED_TEXT = builders.TEXT_EXPECT | {"content": [{"thinking": {"text": "", "signature": "c2ln"}}]}


@pytest.mark.parametrize(
    ("api", "expect", "reason"),
    [
        ("google-generate", THOUGHT_AND_TEXT, "thinking is not claimed"),
        ("google-generate", SIGNED_TEXT, None),
        ("google-generate", builders.TEXT_EXPECT, None),
        ("anthropic-messages", THOUGHT_AND_TEXT, None),
    ],
)
def test_thoughts_that_a_client_cannot_ask_for_skip_the_case(api, expect, reason):
    case = replace(builders.case(expect), api=api)
    assert explain_unclaimed(case, ALL - {"thinking"}) == reason
    assert explain_unclaimed(case, ALL) is None


def test_parallel_calls_that_are_not_claimed_skip_the_case():
    call = {"tool_call": {"name": "f"}}
    provided = {"tool_call": {"name": "f", "executor": "provider"}}
    two = builders.case(builders.TEXT_EXPECT | {"content": [call, call]})
    one = builders.case(builders.TEXT_EXPECT | {"content": [call, provided]})
    assert explain_unclaimed(two, ALL) is None
    assert explain_unclaimed(two, ALL - {"parallel_tool_calls"}) == "parallel_tool_calls is not claimed"
    assert explain_unclaimed(one, ALL - {"parallel_tool_calls"}) is None


def test_results_contain_the_observation():
    assert serialize_answer(GOOD) == {"outcome": OUTCOME, "events": EVENTS}
    assert serialize_answer(Observation(1)) == {"outcome": 1}
    assert serialize_answer(Errored("m", "t")) == {"traceback": "t"}
    assert serialize_answer(Hang(1)) is None


def test_an_exception_of_the_library_is_kept_with_the_answer():
    kept = serialize_answer(Observation(RAISED_OUTCOME, raised=RAISED))
    where = "openai/_streaming.py:61 in __stream__"
    assert kept["raised"] == {"type": "openai.APIError", "message": "overloaded", "where": where}


def test_a_function_that_raises_in_the_library_fails_with_the_exception():
    call = builders.call()
    (check,) = judged(Observation(RAISED_OUTCOME, raised=RAISED), trial=call).checks
    assert (check.path, check.verdict) == ("output", "fail")
    assert check.message == "the library raised openai.APIError: overloaded"


CALL = {"type": "tool_call", "id": "a", "name": "f", "arguments": {"x": "NaN"}, "complete": True}
CALL_EXPECT = {
    "status": "complete",
    "stop": "stop",
    "content": [{"tool_call": {"name": "f", "arguments": {"x": 1}}}],
}


def test_a_value_that_json_does_not_have_is_the_failure_of_the_library():
    outcome = OUTCOME | {"content": [CALL]}
    trial = builders.trial(builders.case(expect=CALL_EXPECT))
    seen = Observation(outcome, not_json=(("outcome.content.0.arguments.x", "NaN"),))
    found = judged(seen, trial=trial, claims=ALL - {"events"})
    assert found.culprit == "implementation"
    failed = {check.path: check.message for check in found.checks}
    assert failed == {"content.0.tool_call.arguments.x": "got NaN, which JSON does not have"}
    assert judged(seen, trial=trial, claims=frozenset({"usage"})).checks == ()


def test_in_usage_too():
    outcome = OUTCOME | {"usage": {"input": None, "output": 9}}
    (check,) = judged(Observation(outcome, EVENTS, not_json=(("outcome.usage.input", "Infinity"),))).checks
    assert (check.path, check.got) == ("usage.input", "Infinity")


def test_in_events_alone_it_is_one_check():
    not_json = tuple((f"events.{i}.usage.input", "NaN") for i in range(9))
    (check,) = judged(Observation(OUTCOME, EVENTS, not_json=not_json)).checks
    assert check.message == "events.0.usage.input is NaN, which JSON does not have"
