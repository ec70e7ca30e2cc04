"""Interpretations that pass because a maintainer would call them correct, and those that only warn."""

from __future__ import annotations

import pytest

from streamconform.adapters.interface import Observation
from streamconform.judge import decode
from streamconform.judge.compare import UNCACHED, compare_outcome, list_unexposed
from streamconform.judge.judge import check_observation
from streamconform.model.capability import CAPABILITIES
from streamconform.model.result import Raised
from streamconform.model.verdict import Check
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
FAILED_CALL = FAILED | {"content": [{"tool_call": RUN}]}
MAYBE_ENDED = {"any_of": [True, False]}
NOT_ENDED = {"any_of": [False, None]}
WITH_TEXT = RUN | {"arguments_text": '{"n":1}', "id": "1"}
DONE_LOST = {
    "status": {"any_of": ["complete", "incomplete", "error"], "prefer": ["complete"]},
    "stop": {"reason": {"any_of": ["stop", None], "prefer": ["stop"]}},
    "content": [{"text": "Let me."}],
}
TEXT = {"type": "text", "text": "Let me."}
CALL = {"type": "tool_call", "name": "run", "arguments": {"n": 1}}
OPEN = CALL | {"arguments": None, "complete": False}
OTHER_CALL = CALL | {"arguments": {"n": 2}, "complete": True}
THOUGHT = {"type": "thinking", "text": "Hm."}


def expect_call(call):
    return WHOLE | {"content": [{"tool_call": call}]}


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
    "a client that raises loses the counts": (
        FAILED | {"content": [], "usage": {"input": 5}, "cost": {"total": "1"}, "model": "m"},
        outcome("error", None, usage=None, model=None, error={"message": "Overloaded"}),
        ALL,
        {"usage.input": "warn", "cost.total": "warn", "model": "warn"},
    ),
    "a client that raises replaces a count by zero": (
        FAILED | {"content": [], "usage": {"input": 5, "output": 2}},
        outcome("error", None, usage={"input": 0, "output": 2}, error={"message": "Overloaded"}),
        ALL,
        {"usage.input": "fail"},
    ),
    "a complete stream whose counts are lost": (
        USAGE,
        outcome("complete", "stop", usage=None),
        ALL,
        {"usage.input": "fail", "usage.cache_read": "fail", "usage.cache_write": "fail"},
    ),
    "a client that raises has a block that was not sent": (
        CUT,
        outcome("error", None, TEXT, OPEN, THOUGHT),
        ALL,
        {"content.length": "fail"},
    ),
    "a client that raises has a text that does not match": (
        FAILED | {"content": [{"text": {"matches": "^Let"}}]},
        outcome("error", None, {"type": "text", "text": "Set"}, error={"message": "Overloaded"}),
        ALL,
        {"content.0.text": "fail"},
    ),
    "an ended call before an error frame has other arguments": (
        FAILED_CALL,
        outcome("error", None, OTHER_CALL, error={"message": "Overloaded"}),
        ALL,
        {"content.0.tool_call.arguments": "fail"},
    ),
    "an ended call before an error frame is marked incomplete": (
        FAILED_CALL,
        outcome("error", None, OPEN, error={"message": "Overloaded"}),
        ALL,
        {"content.0.tool_call.complete": "warn"},
    ),
    "an ended call before an error frame has null arguments": (
        FAILED_CALL,
        outcome("error", None, CALL | {"arguments": None}, error={"message": "Overloaded"}),
        ALL,
        {"content.0.tool_call.arguments": "warn"},
    ),
    "an ended call is marked incomplete": (
        WHOLE,
        outcome("complete", "tool_use", TEXT, OPEN),
        ALL,
        {"content.1.tool_call.complete": "fail", "content.1.tool_call.arguments": "fail"},
    ),
    "a cut call with null arguments can be executed": (
        expect_call(RUN | {"arguments": None, "complete": False}),
        outcome("complete", "tool_use", CALL),
        ALL,
        {"content.0.tool_call.complete": "fail"},
    ),
    "a malformed call is repaired and marked incomplete": (
        MALFORMED,
        outcome("complete", "tool_use", CALL | {"complete": False}),
        ALL,
        {},
    ),
    "a call that may have ended is marked incomplete": (
        expect_call(RUN | {"complete": MAYBE_ENDED, "id": "1"}),
        outcome("complete", "tool_use", OPEN | {"id": "2"}),
        ALL,
        {"content.0.tool_call.id": "fail"},
    ),
    "a call that may have ended is marked complete, with other arguments": (
        expect_call(RUN | {"complete": MAYBE_ENDED}),
        outcome("complete", "tool_use", OTHER_CALL),
        ALL,
        {"content.0.tool_call.arguments": "fail"},
    ),
    "a call that nobody calls ended is marked incomplete": (
        expect_call(RUN | {"complete": NOT_ENDED}),
        outcome("complete", "tool_use", OPEN),
        ALL,
        {},
    ),
    "the text of arguments is null": (
        expect_call(WITH_TEXT),
        outcome("complete", "tool_use", CALL | {"arguments_text": None}),
        ALL,
        {},
    ),
    "the text of arguments is null, and the arguments differ": (
        expect_call(WITH_TEXT),
        outcome("complete", "tool_use", OTHER_CALL | {"arguments_text": None}),
        ALL,
        {"content.0.tool_call.arguments": "fail", "content.0.tool_call.arguments_text": "fail"},
    ),
    "the text of arguments is null, and only the text is expected": (
        expect_call({"name": "run", "arguments_text": '{"n":1}'}),
        outcome("complete", "tool_use", CALL | {"arguments_text": None}),
        ALL,
        {},
    ),
    "the text of a custom tool is in its arguments": (
        expect_call({"name": "run", "arguments_text": "ls"}),
        outcome("complete", "tool_use", CALL | {"arguments": "ls", "arguments_text": None}),
        ALL,
        {},
    ),
    "the text of a custom tool is wrapped in an object": (
        expect_call({"name": "run", "arguments_text": "ls"}),
        outcome("complete", "tool_use", CALL | {"arguments": {"input": "ls"}, "arguments_text": None}),
        ALL,
        {},
    ),
    "the text of a custom tool is nowhere": (
        expect_call({"name": "run", "arguments_text": "ls"}),
        outcome("complete", "tool_use", CALL | {"arguments": {}, "arguments_text": None}),
        ALL,
        {"content.0.tool_call.arguments_text": "fail"},
    ),
    "the text of arguments differs": (
        expect_call(WITH_TEXT),
        outcome("complete", "tool_use", CALL | {"arguments_text": '{"n": 1}'}),
        ALL,
        {"content.0.tool_call.arguments_text": "fail"},
    ),
    "text that comes after a call": (
        WHOLE | {"content": [{"tool_call": RUN}, {"text": "Let me."}]},
        outcome("complete", "tool_use", CALL, TEXT),
        ALL,
        {},
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


@pytest.mark.parametrize(
    ("got", "claims", "message"),
    [
        (256, {"usage"}, f"expected 11264, got 256; {UNCACHED}"),
        (11264, {"usage"}, None),
        (300, {"usage"}, None),
        (300, {"usage", "cache_usage"}, None),
    ],
)
def test_a_count_without_the_cached_part_is_reported(got, claims, message):
    expect = parse(CUT | {"usage": {"input": 256, "cache_read": 11008, "output": 1}})
    read = decode.decode_outcome(outcome("incomplete", None) | {"usage": {"input": got, "output": 1}})
    (check,) = (
        check
        for check in compare_outcome(expect, read, frozenset(claims), "must")
        if check.path == "usage.input"
    )
    assert check.message == message


@pytest.mark.parametrize(
    ("content", "verdict", "got", "message"),
    [
        ([TEXT], "pass", None, None),
        ([TEXT, OPEN], "pass", False, None),
        (
            [TEXT, CALL | {"complete": True}],
            "fail",
            True,
            (
                'a call that must not be executed is reported as executable: run({"n": 1});'
                " it must be left out, or have `complete: false` or `arguments: null`"
            ),
        ),
    ],
    ids=["left-out", "open", "executable"],
)
def test_the_check_of_a_cut_call_has_both_values(content, verdict, got, message):
    read = decode.decode_outcome(outcome("incomplete", None, *content))
    path = "content.1.tool_call.complete"
    (check,) = (check for check in compare_outcome(parse(CUT), read, ALL, "must") if check.path == path)
    assert check == Check(path=path, level="must", verdict=verdict, expected=False, got=got, message=message)


@pytest.mark.parametrize(
    ("content", "options", "failed"),
    [
        (WHOLE["content"], {}, {"content.length", "content.0.text"}),
        (WHOLE["content"], {"ordered": True}, {"content.length", "content.0.text"}),
        (WHOLE["content"], {"ordered": False}, set()),
        (WHOLE["content"][::-1], {"ordered": False}, set()),
    ],
    ids=["default", "ordered", "one-text", "one-text-after-a-call"],
)
def test_text_after_a_call_is_joined_where_a_message_has_one_text(content, options, failed):
    got = outcome(
        "complete", "tool_use", {"type": "text", "text": "Let"}, CALL, {"type": "text", "text": " me."}
    )
    checks = compare_outcome(
        parse(WHOLE | {"content": content}), decode.decode_outcome(got), ALL, "must", **options
    )
    assert {check.path for check in checks if check.verdict != "pass"} == failed


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
    checked = check_observation(trial, seen, ALL - {"events"}, lambda _: None)
    assert {check.path for check in checked.checks if check.verdict != "pass"} == failed
