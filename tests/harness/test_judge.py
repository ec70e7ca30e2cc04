"""For any answer, the verdict, the party at fault, and the checks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.adapters.interface import Errored, Hang, Observation, Output, ProtocolFault, Skipped
from streamconform.adapters.protocol import RAISED_OUTCOME
from streamconform.judge.invariants import EVENT_RULES
from streamconform.judge.judge import (
    AnswerChecks,
    Judgement,
    check_observation,
    decide_verdict,
    explain_unclaimed,
    is_ordered,
    judge,
    serialize_answer,
)
from streamconform.judge.needed_claims import list_needed_capabilities
from streamconform.model.capability import CAPABILITIES, INCLUDED_IN, OF_STREAMS
from streamconform.model.case import CallCase, Counts, Partial
from streamconform.model.result import Raised
from streamconform.model.trial import Call, Delivered, ProxyView
from streamconform.model.verdict import Check
from streamconform.suite import request_expectation

from . import builders, round_trips

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
    """The checks: status, stop, text, length, two buckets and error; ids, and eight rules about events."""
    found = judged(GOOD)
    assert found.checks == ()
    assert found.passed == 7 + 1 + 8


@pytest.mark.parametrize("level", ["must", "should", "may"])
def test_checks_that_pass_have_the_level_of_the_trial_and_their_own_paths(level):
    trial = builders.trial(builders.case(level=level))
    checks = check_observation(trial, GOOD, ALL, lambda _: None).checks
    assert {(check.level, check.verdict) for check in checks} == {(level, "pass")}
    paths = [check.path for check in checks]
    rules = {"invariant.unique-ids", *(f"invariant.{name}" for name in EVENT_RULES)}
    assert {path for path in paths if path.startswith("invariant.")} == rules
    assert len({*paths}) == len(paths) == 16


CHUNKS = (b"a" * 10, b"b" * 10, b"c" * 10)
STREAMING = [
    ("in-time", CHUNKS, (1, 1, 2, 3, 3), 5, "pass"),
    ("late-with-two-chunks", CHUNKS[:2], (2, 2, 2, 2, 2), 5, "fail"),
    ("at-the-last-moment", CHUNKS, (1, 2, 3, 3, 3), 5, "pass"),
    ("late", CHUNKS, (3, 3, 3, 3, 3), 5, "fail"),
    ("frame-ends-before-the-last-chunk", CHUNKS, (3, 3, 3, 3, 3), 20, "fail"),
    ("frame-ends-in-the-last-chunk", CHUNKS, (3, 3, 3, 3, 3), 21, "pass"),
    ("nobody-knows-the-frame", CHUNKS, (3, 3, 3, 3, 3), None, "pass"),
    ("one-chunk", CHUNKS[:1], (1, 1, 1, 1, 1), 5, "pass"),
    ("nobody-counts", CHUNKS, None, 5, None),
    ("too-few-counts", CHUNKS, (3,), 5, None),
]


@pytest.mark.parametrize(
    ("chunks", "taken", "ends", "verdict"),
    [row[1:] for row in STREAMING],
    ids=[row[0] for row in STREAMING],
)
def test_the_first_delta_is_emitted_before_the_last_chunk_is_read(chunks, taken, ends, verdict):
    trial = builders.trial(chunks=chunks)
    checks = check_observation(trial, Observation(OUTCOME, EVENTS, taken), ALL, lambda _: ends).checks
    verdicts = {check.path: check.verdict for check in checks}
    assert decide_verdict(checks) == (verdict or "pass")
    assert verdicts.get("invariant.streaming") == verdict


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


CALL = {"type": "tool_call", "id": "1", "name": "f", "arguments": {}}
CONTAINED = [
    ([{"type": "text", "text": "Hi."}, CALL], ()),
    ([{"type": "text", "text": "Hi.", "signature": None}], ()),
    ([CALL | {"executor": "client"}], ()),
    ([CALL | {"executor": "provider"}], ("provider_tools",)),
    ([{"type": "other", "kind": "compaction", "data": {}}], ("provider_tools",)),
    ([{"type": "thinking", "text": "Hm."}], ("thinking",)),
    ([CALL | {"signature": "c2ln"}], ("signatures",)),
    (
        [{"type": "thinking", "text": "", "signature": ""}, CALL | {"executor": "provider"}],
        ("provider_tools", "thinking", "signatures"),
    ),
]


@pytest.mark.parametrize(("content", "needed"), CONTAINED)
def test_a_request_case_is_skipped_if_the_client_cannot_hold_its_conversation(content, needed):
    conversation = {
        "model": "m",
        "thinking": {"budget": 1024},
        "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": content}],
    }
    assert list_needed_capabilities(conversation) == needed
    case = replace(builders.call(kind="request").case, input=conversation)
    assert explain_unclaimed(case, ALL - {"requests"}) == "requests is not claimed"
    assert explain_unclaimed(case, frozenset({"requests", *needed})) is None
    for missing in needed:
        assert explain_unclaimed(case, ALL - {missing}) == f"{missing} is not claimed"


BYTES = {"media_type": "image/png", "data": "AA=="}
ADDRESS = {"media_type": "image/png", "url": "https://example.org/a"}
SENT = [
    ([{"role": "user", "content": "Hi."}], {}, ()),
    ([{"role": "user", "content": [{"type": "image", **BYTES}]}], {}, ()),
    ([{"role": "user", "content": [{"type": "image", **ADDRESS}]}], {}, ("attachments",)),
    ([{"role": "user", "content": [{"type": "document", **BYTES}]}], {}, ("attachments",)),
    ([{"role": "tool", "results": [{"content": [{"type": "audio", **BYTES}]}]}], {}, ("attachments",)),
    ([{"role": "system", "content": "Hi."}], {}, ("system_messages",)),
    ([{"role": "user", "content": "Hi."}], {"tools": [{"name": "f", "format": "text"}]}, ("custom_tools",)),
    ([{"role": "user", "content": "Hi."}], {"tools": [{"name": "f", "parameters": {}}]}, ()),
    ([{"role": "user", "content": "Hi."}], {"previous_response_id": "r"}, ("stateful",)),
    ([{"role": "user", "content": "Hi."}], {"prompt": {"id": "p"}}, ("stateful",)),
    ([{"role": "user", "content": "Hi."}], {"seed": 1, "stop": ["a"], "metadata": {"a": "b"}}, ()),
]


@pytest.mark.parametrize(("messages", "settings", "needed"), SENT)
def test_files_instructions_and_stored_answers_need_a_capability_and_other_settings_do_not(
    messages, settings, needed
):
    conversation = {"model": "m", "messages": messages, **settings}
    assert list_needed_capabilities(conversation) == needed
    case = replace(builders.call(kind="request").case, input=conversation)
    # Clients that list no capabilities need not know of these.
    skipped = f"{needed[0]} is not claimed" if needed else None
    assert explain_unclaimed(case, OF_STREAMS | {"requests"}) == skipped


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
    assert failed == {"content.0.tool_call.arguments.x": "got NaN, which JSON cannot represent"}
    assert judged(seen, trial=trial, claims=frozenset({"usage"})).checks == ()


def test_in_usage_too():
    outcome = OUTCOME | {"usage": {"input": None, "output": 9}}
    (check,) = judged(Observation(outcome, EVENTS, not_json=(("outcome.usage.input", "Infinity"),))).checks
    assert (check.path, check.got) == ("usage.input", "Infinity")


def test_in_events_alone_it_is_one_check_at_the_first_place_that_is_claimed():
    places = ("0.tool_call.arguments.x", *(f"{i}.usage.input" for i in range(1, 9)))
    seen = Observation(OUTCOME, EVENTS, not_json=tuple((f"events.{place}", "NaN") for place in places))
    for claims, first in ((ALL, places[0]), (ALL - {"tool_calls", "provider_tools"}, places[1])):
        (check,) = judged(seen, claims=claims).checks
        assert check.message == f"events.{first} is NaN, which JSON cannot represent"


PLAIN = builders.call()
COUNTED = builders.call(kind="tokens", expect=Counts("equal"), id="common/tokens/small")
DOCUMENT = replace(builders.case(), stream=False)
TWO_RESULTS = round_trips.case(results=({"name": "f", "content": "1"}, {"name": "g", "content": "2"}))
NEEDED_CLAIMS = [
    ("function", PLAIN.case, {"partial_json"}),
    ("count", COUNTED.case, {"count_tokens"}),
    ("stream", builders.case(), set()),
    ("document", DOCUMENT, {"documents"}),
    ("round-trip", round_trips.case(), {"round_trips", "tool_calls"}),
    ("two-results", TWO_RESULTS, {"round_trips", "tool_calls", "parallel_tool_calls"}),
]


@pytest.mark.parametrize(
    ("case", "needed"), [row[1:] for row in NEEDED_CLAIMS], ids=[row[0] for row in NEEDED_CLAIMS]
)
def test_a_case_needs_exactly_its_claims(case, needed):
    assert explain_unclaimed(case, frozenset(needed)) is None
    for missing in needed:
        claims = ALL - {missing, INCLUDED_IN.get(missing)}
        assert explain_unclaimed(case, claims) == f"{missing} is not claimed"


def test_a_client_that_sends_any_history_also_makes_round_trips():
    assert explain_unclaimed(TWO_RESULTS, ALL - {"round_trips"}) is None


def test_a_client_that_only_makes_round_trips_is_not_given_a_history():
    case = replace(builders.call(kind="request").case, input={"model": "m", "messages": []})
    assert explain_unclaimed(case, ALL - {"requests"}) == "requests is not claimed"


def test_a_case_whose_recording_was_not_pulled_is_skipped_with_that_reason():
    assert explain_unclaimed(replace(DOCUMENT, unavailable="not pulled"), frozenset()) == "not pulled"


ENDING = {"type": "text", "text": "OK"}
"""The text at the end of an answer that the client continues."""
CONTINUED = [
    ("both-answers", "stop", [CALL, ENDING], []),
    ("only-the-last", "stop", [ENDING], []),
    ("nothing", "stop", [], []),
    ("another-stop", "tool_use", [CALL, ENDING], []),
    ("wrong-text", "stop", [{"type": "text", "text": "No."}, CALL], ["content.length"]),
    ("wrong-call", "stop", [CALL | {"name": "g"}, ENDING], ["content.0.tool_call.name"]),
    ("ending-in-a-thought", "stop", [{"type": "thinking", "text": "OK"}, CALL], ["content.length"]),
]


@pytest.mark.parametrize(
    ("reason", "content", "failing"),
    [row[1:] for row in CONTINUED],
    ids=[row[0] for row in CONTINUED],
)
def test_of_a_continued_answer_the_plain_ending_is_not_judged(reason, content, failing):
    expect = {
        "status": "complete",
        "stop": "pause",
        "content": [{"tool_call": {"name": "f", "arguments": {"x": "NaN"}}}],
        "usage": {"input": 12},
    }
    trial = builders.trial(builders.case(expect))
    outcome = {"status": "complete", "stop": {"reason": reason}, "content": content}
    found = judged(Observation(outcome, continued=True), trial=trial, claims=ALL - {"events"})
    assert [check.path for check in found.checks] == failing


@pytest.mark.parametrize(
    ("text", "failing"), [("Hm.OK", []), ("Hm.", []), ("OKHm.", ["content.0.text"]), ("OK", [])]
)
def test_a_plain_ending_that_is_joined_to_text_is_removed(text, failing):
    expect = {"status": "complete", "stop": "pause", "content": [{"text": "Hm."}]}
    outcome = {"status": "complete", "content": [{"type": "text", "text": text}]}
    trial = builders.trial(builders.case(expect))
    found = judged(Observation(outcome, continued=True), trial=trial, claims=ALL - {"events"})
    assert [check.path for check in found.checks] == failing


def test_the_status_of_a_continued_answer_is_judged():
    outcome = {"status": "incomplete", "content": [CALL, ENDING]}
    trial = builders.trial(builders.case(CALL_EXPECT))
    found = judged(Observation(outcome, continued=True), trial=trial, claims=ALL - {"events"})
    assert "status" in {check.path for check in found.checks}


FAILED_EXPECT = {
    "status": "error",
    "stop": None,
    "content": [],
    "error": {"type": "overloaded_error", "message": "Overloaded", "status": 529},
}
EXCEPTIONS = [
    ("same-words", "Overloaded", {}, []),
    ("among-others", "APIError: Overloaded (retry later)", {}, []),
    ("other-words", "connection closed", {}, ["error.message"]),
    ("reported", "Overloaded", {"error": {"type": "other", "message": "Overloaded"}}, ["error.type"]),
    ("reported-message", "Overloaded", {"error": {"message": "no"}}, ["error.message"]),
]


@pytest.mark.parametrize(
    ("message", "more", "failing"), [row[1:] for row in EXCEPTIONS], ids=[row[0] for row in EXCEPTIONS]
)
def test_an_exception_reports_the_message_of_the_provider(message, more, failing):
    trial = builders.trial(builders.case(FAILED_EXPECT))
    seen = Observation({"status": "error", "content": []} | more, raised=replace(RAISED, message=message))
    found = judged(seen, trial=trial)
    assert [check.path for check in found.checks] == failing


def test_an_exception_is_no_error_in_a_case_without_one():
    trial = builders.trial(builders.case({"status": "error", "stop": None, "content": []}))
    found = judged(Observation({"status": "error", "content": []}, raised=RAISED), trial=trial)
    assert found.checks == ()
    expect = builders.TEXT_EXPECT | {"error": None}
    seen = Observation(OUTCOME | {"error": None}, raised=RAISED)
    assert judged(seen, trial=builders.trial(builders.case(expect))).checks == ()


REQUEST = Call(
    CallCase(
        id="ollama-chat/requests/small",
        api="ollama-chat",
        title="A small request",
        level="should",
        kind="request",
        input={},
        expect=request_expectation.parse({"must": {"a": 1}}),
    )
)
OUTPUTS = [
    ("right-value", PLAIN, Output({}), []),
    ("wrong-value", PLAIN, Output(1), [("output", "must", "fail", {}, 1)]),
    ("right-counts", COUNTED, Output([2, 2]), []),
    ("one-count", COUNTED, Output(0), []),
    ("zero", COUNTED, Output([0, 0]), []),
    ("wrong-counts", COUNTED, Output([2, 3]), [("output", "must", "fail", {"counts": "equal"}, [2, 3])]),
    ("right-request", REQUEST, Output({"body": {"a": 1}}), []),
    ("wrong-request", REQUEST, Output({"body": {"a": 2}}), [("body.a", "should", "warn", 1, 2)]),
    (
        "raised-in-a-request",
        REQUEST,
        Observation(None, raised=RAISED),
        [("body", "should", "warn", None, None)],
    ),
]


@pytest.mark.parametrize(
    ("call", "answer", "failing"), [row[1:] for row in OUTPUTS], ids=[row[0] for row in OUTPUTS]
)
def test_each_output_is_judged_by_its_kind_of_expectation(call, answer, failing):
    found = judged(answer, trial=call)
    assert found.culprit == ("implementation" if failing else None)
    rows = [(check.path, check.level, check.verdict, check.expected, check.got) for check in found.checks]
    assert rows == failing
    assert found.passed == (
        0 if failing and call is not REQUEST else 1 if call is not REQUEST else found.passed
    )


def test_a_long_value_in_place_of_a_count_is_cut_after_80_characters():
    (check,) = judged(Output(["x" * 200]), trial=COUNTED).checks
    assert check.message == f'expected a token count for input 0, got "{"x" * 79}'


@pytest.mark.parametrize(
    ("trial", "answer", "needed"),
    [
        (PLAIN, GOOD, "call has an `output`"),
        (TRIAL, Output({}), "run has an `outcome`"),
    ],
    ids=["call", "run"],
)
def test_an_answer_of_the_wrong_kind_says_which_is_needed(trial, answer, needed):
    found = judged(answer, trial=trial)
    assert (found.verdict, found.culprit) == ("faulted", "adapter")
    assert found.reason == f"not-a-message: the answer to a {needed}"


@pytest.mark.parametrize(
    ("api", "through", "ordered"),
    [
        ("anthropic-messages", None, True),
        ("openai-chat", None, False),
        ("anthropic-messages", "openai-chat", False),
        ("openai-chat", "anthropic-messages", True),
        ("openai-chat", "an-api-of-tomorrow", True),
    ],
)
def test_the_api_that_a_trial_is_read_in_decides_the_order(api, through, ordered):
    trial = builders.trial(replace(builders.case(), api=api))
    assert is_ordered(replace(trial, through=through and ProxyView(through))) is ordered


@pytest.mark.parametrize("partial", [None, Partial(1)], ids=["whole", "broken"])
def test_text_after_a_call_is_out_of_order_only_where_the_api_orders_them(partial):
    expect = CALL_EXPECT | {"content": [{"text": "a"}, *CALL_EXPECT["content"]]}
    call = CALL | {"arguments": {"x": 1}}
    seen = Observation({**OUTCOME, "content": [call, {"type": "text", "text": "a"}]})
    case = builders.case(expect)
    case = replace(case, expect=replace(case.expect, partial=partial))
    claims = ALL - {"events"}
    assert judged(seen, trial=builders.trial(replace(case, api="openai-chat")), claims=claims).checks == ()
    assert judged(seen, trial=builders.trial(case), claims=claims).verdict == "fail"


REPEATED = OUTCOME | {"content": [CALL, CALL]}


@pytest.mark.parametrize(
    ("claims", "failing"),
    [
        ({"tool_calls"}, True),
        ({"provider_tools"}, True),
        ({"tool_calls", "provider_tools"}, True),
        (set(), False),
    ],
    ids=["client", "provider", "both", "neither"],
)
def test_ids_are_judged_if_any_calls_are_claimed(claims, failing):
    expect = {"status": "complete", "stop": "stop", "content": []}
    found = judged(
        Observation(REPEATED), trial=builders.trial(builders.case(expect)), claims=frozenset(claims)
    )
    assert ("invariant.unique-ids" in {check.path for check in found.checks}) is failing


NOT_JSON = [
    ("call", "outcome.content.0.arguments.x", {"tool_calls"}, ["content.0.tool_call.arguments.x"]),
    (
        "provided-call",
        "outcome.content.0.arguments.x",
        {"provider_tools"},
        ["content.0.tool_call.arguments.x"],
    ),
    ("calls-not-claimed", "outcome.content.0.arguments.x", {"usage"}, []),
    ("usage", "outcome.usage.input", {"usage"}, ["usage.input"]),
    ("usage-not-claimed", "outcome.usage.input", {"tool_calls"}, []),
    ("events", "events.3.tool_call.arguments.x", {"tool_calls"}, ["invariant.json"]),
    ("events-not-claimed", "events.3.usage.input", {"tool_calls"}, []),
]


@pytest.mark.parametrize(
    ("place", "claims", "failing"), [row[1:] for row in NOT_JSON], ids=[row[0] for row in NOT_JSON]
)
def test_a_value_that_json_does_not_have_is_judged_if_its_part_is_claimed(place, claims, failing):
    expect = CALL_EXPECT | {"content": [{"tool_call": {"name": "f", "arguments": {"x": "NaN"}}}]}
    case = builders.case(expect | {"usage": {"input": 7}}, level="should")
    outcome = OUTCOME | {"content": [CALL], "usage": {"input": 7}}
    seen = Observation(outcome, not_json=((place, "NaN"),))
    found = judged(seen, trial=builders.trial(case), claims=frozenset(claims))
    assert [check.path for check in found.checks] == failing
    assert {(check.level, check.verdict) for check in found.checks} <= {("should", "warn")}
    if failing and failing != ["invariant.json"]:
        assert found.checks[0].got == "NaN"


def test_each_value_that_json_does_not_have_replaces_only_the_check_of_its_leaf():
    places = ("outcome.usage.input", "outcome.usage.output", "events.3.usage.input")
    seen = Observation(OUTCOME, EVENTS, not_json=tuple((place, "NaN") for place in places))
    found = judged(seen)
    assert [check.path for check in found.checks] == ["usage.input", "usage.output"]
    assert found.passed == judged(GOOD).passed - 2


def test_a_part_that_is_not_claimed_does_not_hide_the_next():
    not_json = (("outcome.usage.input", "NaN"), ("outcome.content.0.arguments.x", "Infinity"))
    seen = Observation(OUTCOME | {"content": [CALL]}, not_json=not_json)
    trial = builders.trial(builders.case(CALL_EXPECT))
    (check,) = judged(seen, trial=trial, claims=frozenset({"tool_calls"})).checks
    assert check.message == "got Infinity, which JSON cannot represent"


def test_the_late_delta_is_reported_with_the_bytes():
    found = judged(Observation(OUTCOME, EVENTS, (3,) * 5), trial=builders.trial(chunks=CHUNKS), first_delta=5)
    (check,) = found.checks
    assert check.message == (
        "the first delta was emitted only after all 3 chunks were read; "
        "its frame ends at byte 5, the last chunk begins at 20"
    )


def test_the_place_of_the_first_delta_is_computed_for_the_trial_only_if_it_is_late():
    requested = []
    trial = builders.trial(chunks=CHUNKS)
    for taken in ((1, 1, 3, 3, 3), (3,) * 5):
        judge(trial, Observation(OUTCOME, EVENTS, taken), ALL, requested.append)
    assert requested == [trial]


def test_an_answer_without_a_delta_is_never_late():
    content = [{"type": "text", "text": ""}]
    trial = builders.trial(builders.case(builders.TEXT_EXPECT | {"content": []}), CHUNKS)
    seen = Observation(OUTCOME | {"content": content}, EVENTS[-1:], (3,))
    assert judged(seen, trial=trial, first_delta=5).checks == ()


@pytest.mark.parametrize("excluded", ["broken", "held"])
def test_a_stream_in_which_a_delta_may_be_late_is_not_checked_for_it(excluded):
    trial = builders.trial(chunks=CHUNKS)
    partial = replace(trial.expect, partial=Partial(0))
    held = replace(trial, through=ProxyView("anthropic-messages", held=True))
    trial = replace(trial, plan=Delivered(trial.chunks, partial)) if excluded == "broken" else held
    seen = Observation(OUTCOME, EVENTS, (3,) * 5)
    assert "invariant.streaming" not in {
        check.path for check in judged(seen, trial=trial, first_delta=5).checks
    }
    not_held = replace(trial, through=ProxyView("anthropic-messages"), plan=Delivered(trial.chunks))
    assert judged(seen, trial=not_held, first_delta=5).verdict == "fail"


def test_the_rules_of_a_proxy_are_checked():
    view = ProxyView("anthropic-messages", {"grammar.one-terminal": "must"})
    seen = Observation(OUTCOME, EVENTS, deviations=(("grammar.one-terminal", "none"),))
    (check,) = judged(seen, trial=replace(TRIAL, through=view)).checks
    assert (check.path, check.message) == ("grammar.one-terminal", "none")


def test_paths_that_the_case_names_and_the_outcome_leaves_out_are_listed():
    case = builders.case(builders.TEXT_EXPECT | {"model": "m"})
    assert judged(GOOD, trial=builders.trial(case)).not_exposed == ("model",)
    without_content = replace(case, expect=replace(case.expect, content=None))
    assert judged(GOOD, trial=builders.trial(without_content)).not_exposed == ("model",)
    malformed = Observation({"status": "done"}, EVENTS)
    assert judged(malformed, trial=builders.trial(case)).not_exposed == ()
    malformed_events = replace(GOOD, events=[{"type": "end"}])
    assert judged(malformed_events, trial=builders.trial(case)).not_exposed == ("model",)
    assert judged(replace(GOOD, events=None), trial=builders.trial(case)).not_exposed == ("model",)
    call_only = builders.case(
        {"status": "complete", "stop": "stop", "content": [{"tool_call": {"name": "f", "id": "a"}}]}
    )
    nothing_else = replace(call_only, expect=replace(call_only.expect, fields={}))
    outcome = OUTCOME | {"content": [{"type": "tool_call", "name": "f", "arguments": {}}]}
    assert (
        "tool_call.id" in judged(Observation(outcome, EVENTS), trial=builders.trial(nothing_else)).not_exposed
    )


def test_a_document_has_no_events():
    assert judged(Observation(OUTCOME), trial=builders.trial(DOCUMENT)).verdict == "pass"


def test_a_malformed_event_is_reported_with_five_problems_at_most():
    (check,) = judged(Observation(OUTCOME, [{"type": "done"}, *[{"type": "end"}] * 9])).checks
    problems = check.message.split("; ")
    assert [problem.partition(":")[0] for problem in problems] == [f"event {i}" for i in range(1, 6)]
    (check,) = judged(Observation(OUTCOME, {})).checks
    assert check.message == "events are not a list"


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((), "pass"),
        (("pass", "may"), "pass"),
        (("pass", "warn", "may"), "warn"),
        (("warn", "fail", "pass"), "fail"),
    ],
)
def test_the_worst_check_decides_the_verdict(verdicts, expected):
    checks = [Check(path="status", level="must", verdict=verdict) for verdict in verdicts]
    assert decide_verdict(checks) == expected


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (Output({"a": 1}), {"output": {"a": 1}}),
        (Errored("m"), None),
        (ProtocolFault("exited", "m", ("a", "b")), {"stderr": ["a", "b"]}),
        (ProtocolFault("exited", "m"), None),
        (Skipped("m"), None),
        (
            Observation(1, [2], earlier=(3,), requests=(4, 5)),
            {"outcome": 1, "events": [2], "earlier": [3], "sent": [4, 5]},
        ),
        (Observation(None, []), {"outcome": None, "events": []}),
    ],
    ids=str,
)
def test_results_keep_the_parts_of_an_answer_that_it_has(answer, kept):
    assert serialize_answer(answer) == kept


def test_a_round_trip_is_judged():
    trial = round_trips.trial()
    assert judged(round_trips.GOOD, trial=trial).verdict == "pass"
    found = judged(replace(round_trips.GOOD, requests=()), trial=trial)
    assert (found.verdict, found.culprit) == ("fail", "implementation")
    assert found.not_exposed == ()


def test_a_caller_may_check_answers_itself():
    """As a run does, which remembers the checks of an answer that it gets several times."""
    found = AnswerChecks((), "implementation", not_exposed=("model",))
    judgement = judge(TRIAL, GOOD, ALL, lambda _: None, lambda *_: found)
    assert judgement == Judgement("pass", None, not_exposed=("model",))
