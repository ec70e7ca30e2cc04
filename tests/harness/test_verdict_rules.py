"""Rules that decide between a failure, a warning and a freedom: each with a bug and an innocent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.adapters.interface import Observation
from streamconform.judge.judge import judge
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import Partial
from streamconform.model.result import Raised
from streamconform.model.trial import Delivered

from .. import bundled_suite
from . import builders

ALL = CAPABILITIES
RAISED = Raised("ConnectionResetError", "reset", "lib/sse.py:9 in read")


def call(name, id_, city, **given):
    return {
        "type": "tool_call",
        "id": id_,
        "name": name,
        "arguments": {"city": city},
        "complete": True,
    } | given


def expect_call(name, id_, city, **given):
    return {"tool_call": {"name": name, "id": id_, "arguments": {"city": city}} | given}


def thought(text, signature=None):
    return {"type": "thinking", "text": text, "signature": signature}


PARIS, OSLO = call("get_weather", "a", "Paris"), call("get_time", "b", "Oslo")
BOTH = [expect_call("get_weather", "a", "Paris"), expect_call("get_time", "b", "Oslo")]
NO_IDS = [{"tool_call": {"name": "get_weather"}}, {"tool_call": {"name": "get_time"}}]
SEARCH = call("web_search", "srv_1", "Rome", executor="provider")
HM = [
    {"thinking": {"text": "First this. ", "signature": "s1"}},
    {"thinking": {"text": "Then.", "signature": "s2"}},
]
UNSIGNED = [{"thinking": "First this."}, {"text": "Yes."}]
YES = {"type": "text", "text": "Yes."}


SIGNED = [{"tool_call": {"name": "get_weather", "id": "a", "signature": "c2lnbmF0dXJl"}}]
UNNAMED = [{"tool_call": {"name": "get_weather", "id": "a"}}]
STREAM_WITH_SIGNATURE = b'data: {"thoughtSignature":"c2lnbmF0dXJl"}\n\n'


def judge_content(expected, got, **options):
    """Return the failed checks of an answer, by path, with their verdicts."""
    return {check.path: check.verdict for check in judge_checks(expected, got, **options)}


def judge_checks(
    expected, got, *, claims=ALL - {"events"}, partial=None, raised=None, status="complete", body=None, **more
):
    """Return the failed checks of an answer."""
    case = builders.case({"status": "complete", "stop": "tool_use", "content": expected})
    if body is not None:
        case = replace(case, cassette=replace(case.cassette, body=body))
    trial = builders.trial(case)
    if partial is not None:
        derived = replace(case.expect, fields={}, partial=partial)
        trial = replace(trial, plan=Delivered(trial.chunks, derived))
    stop = {"reason": "tool_use" if status == "complete" else None}
    answer = Observation({"status": status, "stop": stop, "content": got}, raised=raised, **more)
    return judge(trial, answer, claims, lambda _: None).checks


ORDER = "content.order"


@pytest.mark.parametrize(
    ("expected", "got", "failed"),
    [
        (BOTH, [PARIS, OSLO], {}),
        (BOTH, [OSLO, PARIS], {ORDER: "warn"}),
        (BOTH, [{**OSLO, "id": "a"}, {**PARIS, "id": "b"}], {"arguments", "name"}),
        (BOTH, [{**OSLO, "id": None}, {**PARIS, "id": None}], {"arguments", "name", "id"}),
        (BOTH, [{**OSLO, "id": "x"}, {**PARIS, "id": "x"}], {"arguments", "name", "id", "unique-ids"}),
        (NO_IDS, [OSLO, PARIS], {"name"}),
    ],
    ids=["as-sent", "another-order", "swapped-ids", "no-ids", "one-id-twice", "case-without-ids"],
)
def test_calls_are_paired_by_id_and_their_order_alone_is_a_warning(expected, got, failed):
    found = judge_content(expected, got)
    if isinstance(failed, dict):
        assert found == failed
    else:
        assert {path.rpartition(".")[2] for path, verdict in found.items() if verdict == "fail"} == failed


def test_calls_change_places_only_with_calls():
    expected = [BOTH[0], {"text": "Yes."}, BOTH[1]]
    assert judge_content(expected, [OSLO, YES, PARIS]) == {ORDER: "warn"}
    assert judge_content(expected, [OSLO, PARIS, YES])["content.1.text"] == "fail"


@pytest.mark.parametrize(
    ("expected", "got", "failed"),
    [
        (BOTH, [PARIS, SEARCH, OSLO], set()),
        (BOTH, [PARIS, {**SEARCH, "executor": "client"}, OSLO], {"content.length"}),
        (
            [expect_call("web_search", "srv_1", "Rome", executor="provider")],
            [SEARCH, SEARCH],
            {"content.length"},
        ),
        ([{"tool_call": {"name": "web_search", "executor": "provider"}}], [SEARCH], set()),
        ([{"tool_call": {"name": "web_search", "executor": "provider"}}], [], {"content.length"}),
    ],
    ids=["extra", "as-the-client's", "twice", "named", "lost"],
)
def test_a_call_of_the_provider_is_judged_if_the_case_names_it(expected, got, failed):
    found = judge_content(expected, got)
    assert {path for path, verdict in found.items() if verdict == "fail" and "tool_call" not in path} - {
        "invariant.unique-ids"
    } == failed


@pytest.mark.parametrize(
    ("expected", "got", "passes"),
    [
        (UNSIGNED, [thought("First "), thought("this."), YES], True),
        (HM[:1], [thought("First "), thought("this. ", "s1")], True),
        (HM[:1], [thought("First this. "), thought("", "s1")], True),
        (HM, [thought("First "), thought("this. ", "s1"), thought("Then.", "s2")], True),
        (HM, [thought("First this. Then.", "s2")], False),
        (HM[:1], [thought("First ", "s1"), thought("this. ")], False),
        (UNSIGNED, [thought("First "), YES, thought("this.")], False),
        (UNSIGNED, [thought("First "), YES], False),
    ],
)
def test_a_thought_may_be_split_if_only_its_last_piece_is_signed(expected, got, passes):
    assert (judge_content(expected, got) == {}) == passes


def test_a_block_per_delta_of_a_thought_is_a_warning_in_events():
    got = [thought("First "), thought("this."), YES]
    events = []
    for index, block in enumerate(got):
        kind = block["type"]
        events += [
            {"type": f"{kind}_start", "content_index": index},
            {"type": f"{kind}_delta", "content_index": index, "delta": block["text"]},
            {**block, "type": f"{kind}_end", "content_index": index},
        ]
    events.append({"type": "done", "stop": {"reason": "tool_use"}})
    found = judge_content(UNSIGNED, got, claims=ALL, events=events)
    assert found == {"invariant.one-block-per-thought": "warn"}


@pytest.mark.parametrize(("pieces", "level"), [(1, None), (2, None), (3, "warn")])
def test_more_than_two_blocks_for_a_thought_are_a_warning_where_positions_are_not_judged(pieces, level):
    words = ["First ", "this", "."]
    got = [thought(word) for word in (*words[: pieces - 1], "".join(words[pieces - 1 :]))] + [YES]
    case = builders.case({"status": "complete", "stop": "stop", "content": UNSIGNED})
    case = replace(case, api="openai-chat", id="openai-chat/text/small")
    answer = Observation({"status": "complete", "stop": {"reason": "stop"}, "content": got}, events=[])
    checks = judge(builders.trial(case), answer, ALL, lambda _: None).checks
    split = [check.verdict for check in checks if check.path == "invariant.one-block-per-thought"]
    assert split == ([level] if level else [])


ONE_ENDED = Partial(calls_ended=1)
CUT = Partial(calls_ended=0)


@pytest.mark.parametrize(
    ("raised", "verdict"), [(None, "fail"), (RAISED, "warn")], ids=["in-the-outcome", "beside-an-exception"]
)
def test_an_unfinished_call_beside_an_exception_is_a_warning(raised, verdict):
    found = judge_content(BOTH, [PARIS, OSLO], partial=ONE_ENDED, raised=raised, status="incomplete")
    assert found == {"content.complete_calls": verdict}
    authored = [BOTH[0], expect_call("get_time", "b", "Oslo", complete=False)]
    found = judge_content(authored, [PARIS, OSLO], raised=raised, status="incomplete")
    assert found["content.1.tool_call.complete"] == verdict


SEARCHED = {"tool_call": {"name": "web_search", "executor": "provider"}}


@pytest.mark.parametrize("arguments", [{}, OSLO["arguments"]], ids=["cut", "whole"])
def test_an_ended_call_of_the_provider_does_not_excuse_an_unfinished_one_of_the_client(arguments):
    claims = ALL - {"events", "provider_tools"}
    found = judge_checks(
        [SEARCHED, BOTH[1]],
        [{**OSLO, "arguments": arguments}],
        claims=claims,
        partial=CUT,
        status="incomplete",
    )
    assert found[-1].path == "content.complete_calls"
    # Nobody can know the arguments of a cut call.
    assert [check.expected for check in found[:-1]] in ([], [None])


def test_a_call_of_the_provider_may_be_reported_before_it_ends():
    assert judge_content([SEARCHED, BOTH[1]], [SEARCH], partial=CUT, status="incomplete") == {}


def test_texts_around_a_call_that_is_lost_with_an_exception_are_one_text():
    case = [{"text": "First "}, BOTH[0], {"text": "then"}]
    got = [{"type": "text", "text": "First then"}]
    assert judge_content(case, got, partial=CUT, raised=RAISED, status="error").keys() <= {"status"}
    assert "content.0.text" in judge_content(case, [{**YES}], partial=CUT, raised=RAISED, status="error")


def test_a_call_of_the_provider_that_is_reported_as_the_clients_is_named():
    reported = {key: value for key, value in SEARCH.items() if key != "executor"}
    (failed,) = judge_checks([SEARCHED], [reported], claims=ALL - {"events", "provider_tools"})
    assert (failed.path, failed.verdict) == ("content.length", "fail")
    assert 'reported as the client\'s: web_search({"city": "Rome"})' in failed.message


def test_a_cut_call_behind_a_text_that_came_later_is_not_compared_with_another_call():
    case = [BOTH[0], {"text": "And then:"}, BOTH[1]]
    got = [{"type": "text", "text": "And"}, PARIS]
    (failed,) = judge_checks(case, got, partial=ONE_ENDED, status="incomplete")
    assert (failed.path, failed.message) == (
        "content.length",
        "blocks that are at another place in the complete stream: text",
    )


def test_an_exception_does_not_excuse_an_answer_that_is_reported_as_complete():
    found = judge_content(BOTH, [PARIS, OSLO], partial=ONE_ENDED, raised=RAISED)
    assert found == {"content.complete_calls": "fail"}


@pytest.mark.parametrize(("ended", "failed"), [(1, False), (2, True)])
def test_an_event_that_hands_out_an_unfinished_call_fails_beside_an_exception_too(ended, failed):
    got = [PARIS, OSLO]
    events = []
    for index, block in enumerate(got):
        events.append(
            {"type": "toolcall_start", "content_index": index, "id": block["id"], "name": block["name"]}
        )
        if index < ended:
            events.append({"type": "toolcall_end", "content_index": index, "tool_call": block})
    events.append({"type": "error", "status": "incomplete", "error": None})
    found = judge_content(
        BOTH,
        [PARIS, {**OSLO, "complete": ended > 1}],
        claims=ALL,
        partial=ONE_ENDED,
        raised=RAISED,
        status="incomplete",
        events=events,
    )
    assert (found.get("invariant.ended-calls") == "fail") == failed


@pytest.mark.parametrize(
    ("case", "signature", "failed"),
    [
        (SIGNED, "c2lnbmF0dXJl", {"content.length": "warn"}),
        (UNNAMED, "c2lnbmF0dXJl", {"content.length": "warn"}),
        (SIGNED, "b3RoZXI=", {"content.length": "fail", "content.0.tool_call.signature": "fail"}),
        (UNNAMED, "b3RoZXI=", {"content.length": "fail"}),
    ],
    ids=["named", "in-the-stream", "another", "made-up"],
)
@pytest.mark.parametrize("partial", [None, Partial(calls_ended=1)], ids=["whole", "cut"])
def test_a_call_s_signature_as_thinking_is_a_warning_and_a_wrong_one_is_not(case, signature, failed, partial):
    got = [thought("", signature), {**PARIS, "signature": None}]
    status = "complete" if partial is None else "incomplete"
    found = judge_content(case, got, body=STREAM_WITH_SIGNATURE, partial=partial, status=status)
    if partial is not None:  # the signatures of a broken answer are not judged
        failed = {path: verdict for path, verdict in failed.items() if path == "content.length"}
    assert found == failed


USAGE = {"input": 5, "cache_read": 7, "cache_write": 11}


@pytest.mark.parametrize(
    ("usage", "failed"),
    [
        ({"input": 5, "cache_read": 7}, {}),
        ({"input": 16, "cache_read": 7}, {"usage.input": "warn"}),
        ({"input": 12, "cache_write": 11}, {"usage.input": "warn"}),
        ({"input": 23, "cache_read": 7}, {"usage.input": "fail"}),
        ({"input": 12, "cache_read": 7}, {"usage.input": "fail"}),
        ({"input": 16, "cache_read": 7, "cache_write": 11}, {"usage.input": "fail"}),
        (
            {"input": 16, "cache_read": 7, "cache_write": None},
            {"usage.input": "fail", "usage.cache_write": "fail"},
        ),
    ],
)
def test_input_may_include_only_the_cached_tokens_that_are_not_exposed(usage, failed):
    assert judge_usage(usage) == failed


def judge_usage(usage):
    case = builders.case({"status": "complete", "stop": "stop", "content": [], "usage": USAGE})
    answer = Observation({"status": "complete", "stop": {"reason": "stop"}, "content": [], "usage": usage})
    checks = judge(builders.trial(case), answer, ALL - {"events"}, lambda _: None).checks
    return {check.path: check.verdict for check in checks}


REFUSABLE = {
    "blocked": ("google-generate/stop-reasons/safety-after-text", "content_filter"),
    "blocked-prompt": ("google-generate/safety/prompt-blocked-safety", "content_filter"),
    "refusal": ("openai-responses/refusal/refusal-part", "stop"),
    "cut-call": ("openai-responses/terminal/max-output-tokens-in-call", "length"),
    "whole-call": ("anthropic-messages/llama-cpp/length-after-calls", "length"),
}


@pytest.mark.parametrize(("id_", "reason"), REFUSABLE.values(), ids=REFUSABLE)
def test_a_client_may_raise_on_an_answer_that_it_may_refuse_but_not_call_it_a_normal_end(id_, reason):
    case = next(case for case in bundled_suite.streams() if case.id == id_)
    empty = {"status": "error", "content": [], "stop": {"reason": "error"}}
    assert judge_case(case, empty, raised=RAISED) == "warn"
    # Without the content, only a `stop` that the API itself sends could pass.
    assert judge_case(case, {"status": "complete", "content": [], "stop": {"reason": "tool_use"}}) == "fail"
    if case.expect.content:
        assert judge_case(case, {"status": "complete", "content": [], "stop": {"reason": reason}}) in (
            # An unfinished call may be left out.
            ("pass",) if id_.endswith("in-call") else ("fail",)
        )


def judge_case(case, outcome, **more):
    claims = ALL - {"events", "usage", "cost", "cache_usage", "usage_details"}
    return judge(builders.trial(case), Observation(outcome, **more), claims, lambda _: None).verdict
