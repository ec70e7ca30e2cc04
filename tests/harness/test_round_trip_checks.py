"""The checks of a round trip, their levels, and the party at fault."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from streamconform.judge.round_trip import check_round_trip, list_round_trip_paths
from streamconform.model.capability import CAPABILITIES
from streamconform.model.verdict import Check

from . import round_trips

ALL = CAPABILITIES - {"compaction"}
ALL_BUT_STATEFUL = ALL - {"stateful"}
BEGINS = "request.prefix.input"
RESPONSES = "openai-responses"
REQUEST = {
    "must": {"messages": [{"role": "user"}, {"role": "tool", "content": "1"}]},
    "may": {"options": {"json": {}}},
    "must_not": ["messages.*.id"],
    "headers": {"x-version": "1"},
    "path": "/api/chat",
}
SECOND = round_trips.GOOD.requests[1] | {"headers": {"x-version": "1"}, "path": "/api/chat"}
FULL = replace(round_trips.GOOD, requests=(round_trips.GOOD.requests[0], SECOND))
PATHS_OF_ANSWERS = {
    "first.status",
    "first.stop.reason",
    "first.error",
    "first.content.length",
    "first.content.0.tool_call.name",
    "first.content.0.tool_call.arguments",
    "first.content.0.tool_call.complete",
    "first.content.0.tool_call.executor",
    "first.invariant.unique-ids",
    "outcome.status",
    "outcome.stop.reason",
    "outcome.error",
    "outcome.usage.input",
    "outcome.usage.output",
    "outcome.content.length",
    "outcome.content.0.text",
    "outcome.invariant.unique-ids",
}
LEAVES_OF_THE_REQUEST = {
    "requests.length",
    "request.body.messages.length",
    "request.body.messages.0.role",
    "request.body.messages.1.role",
    "request.body.messages.1.content",
    "request.body.options",
    "request.body.messages.*.id",
    "request.headers.x-version",
    "request.path",
    "request.invariant.unique-ids",
}
BEGINNING = {
    "request.prefix.tools",
    "request.prefix.messages",
    "request.prefix.thinking",
    "request.bytes.tools",
    "request.bytes.messages",
}
PATHS_OF_WRONG_TYPES = {
    "request.body",
    "request.body.messages",
    "request.body.messages.0",
    "request.body.messages.1",
}


def failed(checks: Iterable[Check]) -> list[str]:
    return [check.path for check in checks if check.verdict != "pass"]


def test_every_check_has_the_level_of_the_case_and_the_part_that_it_judges_in_its_path():
    trial = round_trips.trial(round_trips.case(REQUEST, level="should"))
    checks, culprit = check_round_trip(trial, FULL, ALL)
    levels = {check.path: check.level for check in checks}
    paths = LEAVES_OF_THE_REQUEST | {path for path in levels if path.startswith(("first.", "outcome."))}
    recorded = {"request.body.options", "request.prefix.thinking"}
    expected = dict.fromkeys(paths | BEGINNING, "should") | dict.fromkeys(recorded, "may")
    assert levels == expected
    assert (failed(checks), culprit) == (["request.body.options"], "implementation")


def test_the_paths_that_can_be_listed_as_known_are_those_of_all_checks():
    trial = round_trips.trial(round_trips.case(REQUEST))
    paths = list_round_trip_paths(trial, ALL)
    assert paths == PATHS_OF_ANSWERS | LEAVES_OF_THE_REQUEST | PATHS_OF_WRONG_TYPES | BEGINNING
    assert {check.path for check in check_round_trip(trial, FULL, ALL)[0]} <= paths
    other = {key: value for key, value in REQUEST.items() if key != "path"}
    assert paths - list_round_trip_paths(round_trips.trial(round_trips.case(other)), ALL) == {"request.path"}


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"outcome": {"status": "complete"}}, "invariant.outcome-schema"),
        ({"earlier": ({"status": "complete"},)}, "invariant.first-schema"),
    ],
    ids=["outcome", "first"],
)
def test_an_outcome_that_is_not_in_the_normal_form_gets_one_check_and_is_the_adapters_fault(part, path):
    trial = round_trips.trial(round_trips.case(level="should"))
    seen = replace(round_trips.GOOD, **part)
    checks, culprit = check_round_trip(trial, seen, ALL)
    message = "(whole): key `content` is missing"
    assert checks == [Check(path=path, level="should", verdict="warn", message=message)]
    assert culprit == "adapter"


@pytest.mark.parametrize(
    ("expected", "seen"),
    [(None, round_trips.GOOD), (round_trips.CALL_EXPECT, replace(round_trips.GOOD, earlier=()))],
    ids=["not-expected", "not-reported"],
)
def test_a_first_answer_is_judged_only_if_it_is_expected_and_reported(expected, seen):
    trial = round_trips.trial(round_trips.case(first=expected))
    checks, _ = check_round_trip(trial, seen, ALL)
    assert {check.path.partition(".")[0] for check in checks} == {"requests", "request", "outcome"}


def test_without_a_second_request_the_body_is_missing():
    trial = round_trips.trial(round_trips.case(level="should"))
    seen = replace(round_trips.GOOD, requests=round_trips.GOOD.requests[:1])
    length, body = (check for check in check_round_trip(trial, seen, ALL)[0] if check.verdict != "pass")
    assert (length.path, length.expected, length.got) == ("requests.length", 2, 1)
    message = "no request followed answer 1: it was not sent back"
    assert body == Check(path="request.body", level="should", verdict="warn", expected={}, message=message)


@pytest.mark.parametrize(("api", "failing"), [("ollama-chat", False), ("anthropic-messages", True)])
def test_text_and_calls_are_ordered_as_the_api_orders_them(api, failing):
    call = round_trips.FIRST_OUTCOME["content"][0]
    expect = round_trips.CALL_EXPECT | {"content": [{"text": "a"}, *round_trips.CALL_EXPECT["content"]]}
    first = round_trips.FIRST_OUTCOME | {"content": [call, {"type": "text", "text": "a"}]}
    trial = round_trips.trial(round_trips.case({"must": {}}, expect, api=api))
    checks, _ = check_round_trip(trial, replace(round_trips.GOOD, earlier=(first,)), ALL)
    assert bool(failed(checks)) is failing


def test_calls_of_one_answer_have_different_ids():
    first = round_trips.FIRST_OUTCOME | {"content": round_trips.FIRST_OUTCOME["content"] * 2}
    checks, _ = check_round_trip(round_trips.trial(), replace(round_trips.GOOD, earlier=(first,)), ALL)
    assert failed(checks) == ["first.content.length", "first.invariant.unique-ids"]


USER = {"type": "message", "role": "user"}
CALL = {"type": "function_call", "call_id": "a"}
RESULT = {"type": "function_call_output", "call_id": "a"}
KEPT = "request.body.previous_response_id"
STATELESS = {"input": [USER, CALL, RESULT]}
STATEFUL = {"previous_response_id": "resp_1", "input": [RESULT]}
BODIES: list[tuple[str, set[str], Any, list[str]]] = [
    ("history", {"stateful"}, STATELESS, []),
    ("kept-answer", {"stateful"}, STATEFUL, []),
    ("no-answer", {"stateful"}, STATELESS | {"previous_response_id": None}, []),
    ("unknown-answer", {"stateful"}, STATEFUL | {"previous_response_id": "resp_2"}, [KEPT]),
    ("number", {"stateful"}, STATEFUL | {"previous_response_id": 7}, [KEPT]),
    ("forbidden", {"stateful"}, STATEFUL | {"stop": "a"}, ["request.body.stop"]),
    ("wrong-result", {"stateful"}, STATEFUL | {"input": [CALL]}, ["request.body.input.0.type"]),
    ("no-body", {"stateful"}, "text", ["request.body"]),
    (
        "unclaimed",
        set(),
        STATEFUL,
        [BEGINS, "request.body.input.length", "request.body.input.0.type", "request.body.input.0.role", KEPT],
    ),
]


@pytest.mark.parametrize(
    ("claimed", "body", "failing"), [row[1:] for row in BODIES], ids=[row[0] for row in BODIES]
)
def test_a_client_that_claims_it_may_leave_the_history_to_the_server(claimed, body, failing):
    request = {"must": STATELESS, "must_not": ["previous_response_id", "stop"]}
    case = round_trips.case(request, api=RESPONSES, body=b'{"id": "resp_1", "n": 7}', level="should")
    seen = replace(round_trips.GOOD, requests=({"body": {"input": [USER]}}, {"body": body}))
    claims = ALL_BUT_STATEFUL | claimed
    checks = [
        check
        for check in check_round_trip(round_trips.trial(case), seen, claims)[0]
        if "request." in check.path and check.level != "may"
    ]
    assert failed(checks) == failing
    assert {check.level for check in checks} == {"should"}
    if claimed and failing == [KEPT]:
        (kept,) = (check for check in checks if check.path == KEPT)
        assert (kept.got, kept.message) == (
            body["previous_response_id"],
            "does not refer to an answer that the server gave",
        )


def test_without_results_to_send_the_history_is_expected():
    case = round_trips.case({"must": STATELESS}, api=RESPONSES, results=())
    seen = replace(round_trips.GOOD, requests=({"body": {}}, {"body": STATEFUL}))
    assert "request.body.input.length" in failed(check_round_trip(round_trips.trial(case), seen, ALL)[0])


def test_a_case_that_expects_no_history_expects_none_after_a_kept_answer():
    case = round_trips.case({"must": {"model": "m"}}, api=RESPONSES)
    seen = replace(round_trips.GOOD, requests=({"body": {}}, {"body": STATEFUL | {"model": "m"}}))
    assert failed(check_round_trip(round_trips.trial(case), seen, ALL)[0]) == []


@pytest.mark.parametrize(
    ("api", "claims", "listed"),
    [(RESPONSES, ALL, True), (RESPONSES, ALL - {"stateful"}, False), ("ollama-chat", ALL, False)],
)
def test_the_kept_answer_can_be_listed_as_known_if_it_is_claimed(api, claims, listed):
    trial = round_trips.trial(round_trips.case({"must": {}}, api=api))
    paths = list_round_trip_paths(trial, claims)
    assert any("previous" in path or "None" in path for path in paths) is listed
    assert (KEPT in paths) is listed
