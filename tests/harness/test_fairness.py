"""What passes because a maintainer would call it correct, and what only warns: one row per reading."""

from __future__ import annotations

import pytest
from streamconform.adapters.interface import Observation, Raised
from streamconform.judge import decode
from streamconform.judge.compare import compare_outcome, list_unexposed
from streamconform.judge.judge import check_observation
from streamconform.model.capability import CAPABILITIES
from streamconform.suite.expectation import parse

from . import builders

RUN = {"name": "run", "arguments": {"n": 1}}
WHOLE = {"status": "complete", "stop": "tool_use", "content": [{"text": "Let me."}, {"tool_call": RUN}]}
CUT = {
    "status": "incomplete",
    "stop": {"reason": None, "raw": None},
    "content": [{"text": "Let me."}, {"tool_call": {"name": "run", "complete": False}}],
}
FAILED = {
    "status": "error",
    "stop": "error",
    "content": [{"text": "Let me."}],
    "error": {"message": "Overloaded"},
}
MALFORMED = {
    "status": "complete",
    "stop": "tool_use",
    "content": [{"tool_call": {"name": "run", "arguments": None, "arguments_text": '{"n":'}}],
}
USAGE = {
    "status": "complete",
    "stop": "stop",
    "content": [],
    "usage": {"input": 5, "cache_read": 7, "cache_write": 0},
}
DONE_LOST = {
    "status": {"any_of": ["complete", "incomplete", "error"], "prefer": ["complete"]},
    "stop": {"reason": {"any_of": ["stop", None], "prefer": ["stop"]}},
    "content": [{"text": "Let me."}],
}
TEXT = {"type": "text", "text": "Let me."}
CALL = {"type": "tool_call", "name": "run", "arguments": {"n": 1}}
OPEN = CALL | {"arguments": None, "complete": False}


def outcome(status, reason, *content, **more):
    return {"status": status, "stop": {"reason": reason}, "content": list(content), **more}


ALL = CAPABILITIES
NO_CACHE = CAPABILITIES - {"cache_usage"}

READINGS = {
    "a cut stream is incomplete": (CUT, outcome("incomplete", None, TEXT, OPEN), ALL, {}),
    "a cut stream is an error": (CUT, outcome("error", "error", TEXT, OPEN), ALL, {}),
    "a cut stream is complete": (
        CUT,
        outcome("complete", "stop", TEXT),
        ALL,
        {"status": "fail", "stop.reason": "fail"},
    ),
    "a client that raises loses the text": (
        CUT,
        outcome("error", "error"),
        ALL,
        {"content.length": "warn", "content.0.text": "warn"},
    ),
    "a client that raises keeps a part of the text": (
        CUT,
        outcome("error", None, {"type": "text", "text": "Let"}, OPEN),
        ALL,
        {"content.0.text": "warn"},
    ),
    "a client that raises has another text": (
        CUT,
        outcome("error", None, {"type": "text", "text": "Set"}, OPEN),
        ALL,
        {"content.0.text": "fail"},
    ),
    "an error frame whose text is lost": (
        FAILED,
        outcome("error", None, error={"message": "Overloaded"}),
        ALL,
        {"content.length": "warn", "content.0.text": "warn"},
    ),
    "an error frame that is reported as a cut": (
        FAILED,
        outcome("incomplete", None, TEXT, error={"message": "Overloaded"}),
        ALL,
        {"status": "fail"},
    ),
    "a complete stream whose text is lost": (
        WHOLE,
        outcome("complete", "tool_use", CALL),
        ALL,
        {"content.length": "fail", "content.0.text": "fail"},
    ),
    "a cut call is left out": (CUT, outcome("incomplete", None, TEXT), ALL, {}),
    "a cut call has null arguments": (
        CUT,
        outcome("incomplete", None, TEXT, CALL | {"arguments": None}),
        ALL,
        {},
    ),
    "a cut call can be executed": (
        CUT,
        outcome("incomplete", None, TEXT, CALL),
        ALL,
        {"content.1.tool_call.complete": "fail"},
    ),
    "a malformed call is marked incomplete": (MALFORMED, outcome("complete", "tool_use", OPEN), ALL, {}),
    "a malformed call is left out": (MALFORMED, outcome("complete", "tool_use"), ALL, {}),
    "a malformed call is repaired": (
        MALFORMED,
        outcome("complete", "tool_use", CALL),
        ALL,
        {"content.0.tool_call.arguments": "fail"},
    ),
    "an ended call without complete, id and text": (
        WHOLE,
        outcome("complete", "tool_use", TEXT, CALL),
        ALL,
        {},
    ),
    "only [DONE] is lost, and the client says complete": (
        DONE_LOST,
        outcome("complete", "stop", TEXT),
        ALL,
        {},
    ),
    "only [DONE] is lost, and the client raises": (
        DONE_LOST,
        outcome("error", None),
        ALL,
        {"status": "warn", "stop.reason": "warn", "content.length": "warn", "content.0.text": "warn"},
    ),
    "the cache is counted apart": (
        USAGE,
        outcome("complete", "stop", usage={"input": 5, "cache_read": 7, "cache_write": 0}),
        ALL,
        {},
    ),
    "the cache is not exposed": (USAGE, outcome("complete", "stop", usage={"input": 5}), ALL, {}),
    "the cache is said not to exist": (
        USAGE,
        outcome("complete", "stop", usage={"input": 5, "cache_read": None, "cache_write": 0}),
        ALL,
        {"usage.cache_read": "fail"},
    ),
    "the cache is part of the input": (USAGE, outcome("complete", "stop", usage={"input": 12}), NO_CACHE, {}),
    "the cache is missing from the input": (
        USAGE,
        outcome("complete", "stop", usage={"input": 5}),
        NO_CACHE,
        {"usage.input": "fail"},
    ),
    "usage is claimed and absent": (
        USAGE,
        outcome("complete", "stop"),
        ALL,
        {"usage.input": "fail", "usage.cache_read": "fail", "usage.cache_write": "fail"},
    ),
}


@pytest.mark.parametrize(("expect", "got", "claims", "verdicts"), READINGS.values(), ids=READINGS)
def test_a_reading_fails_only_where_its_maintainer_would_agree(expect, got, claims, verdicts):
    checks = compare_outcome(parse(expect), decode.decode_outcome(got), claims, "must")
    assert {check.path: check.verdict for check in checks if check.verdict != "pass"} == verdicts


@pytest.mark.parametrize("ordered", [True, False])
def test_text_after_a_call_is_joined_where_a_message_has_one_text(ordered):
    got = outcome(
        "complete", "tool_use", {"type": "text", "text": "Let"}, CALL, {"type": "text", "text": " me."}
    )
    checks = compare_outcome(parse(WHOLE), decode.decode_outcome(got), ALL, "must", ordered=ordered)
    failed = {check.path for check in checks if check.verdict != "pass"}
    assert failed == (set() if not ordered else {"content.length", "content.0.text"})


def test_paths_that_are_left_out_are_listed_where_the_case_names_them():
    expect = parse(USAGE | {"model": "m", "content": [{"tool_call": RUN | {"id": "1"}}]})
    got = decode.decode_outcome(outcome("complete", "stop", CALL, usage={"input": 5}))
    expected = ("model", "tool_call.complete", "tool_call.id", "usage.cache_read", "usage.cache_write")
    assert list_unexposed(expect, got, ALL) == expected


EXCEPTIONS = {
    "with the provider's message": ({}, "503: {'message': 'Overloaded'}", set()),
    "with another message": ({}, "Something went wrong", {"error.message"}),
    "beside an error of the adapter's": ({"error": {"message": "Busy"}}, "Overloaded", {"error.message"}),
    "beside a type of the adapter's": (
        {"error": {"type": "busy", "message": "Overloaded"}},
        "Overloaded",
        {"error.type"},
    ),
}


@pytest.mark.parametrize(("more", "message", "failed"), EXCEPTIONS.values(), ids=EXCEPTIONS)
def test_an_exception_reports_the_error_unless_the_adapter_does(more, message, failed):
    expect = FAILED | {"error": {"type": "overloaded_error", "message": "Overloaded", "status": 529}}
    trial = builders.trial(builders.case(expect))
    seen = Observation(outcome("error", "error", TEXT, **more), raised=Raised("lib.ServerError", message))
    checks, _ = check_observation(trial, seen, ALL - {"events"}, lambda _: None)
    assert {check.path for check in checks if check.verdict != "pass"} == failed
