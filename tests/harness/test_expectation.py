"""Shorthands and their long forms, defaults, matchers."""

from __future__ import annotations

import re

import pytest

from streamconform.model.case import Counts, ExpectedBlock
from streamconform.model.leaf import AnyOf, Digest, Literally, Matches, PrefixOf, Present
from streamconform.model.outcome import Usage
from streamconform.suite.expectation import parse, parse_block, parse_leaf, parse_output, serialize_leaf

BASE = {"status": "complete", "stop": "stop", "content": []}
TRUE = Literally(value=True)
DEFAULTS = {"complete": TRUE, "executor": Literally("client")}


def test_a_stop_in_short_is_its_reason():
    assert parse(BASE) == parse(BASE | {"stop": {"reason": "stop"}})
    assert parse(BASE | {"stop": {"any_of": ["stop", "other"]}}).fields["stop.reason"] == AnyOf(
        ("stop", "other")
    )
    assert parse(BASE | {"stop": {"raw": "end"}}).fields["stop.raw"] == Literally("end")


BLOCKS = [
    ({"text": "x"}, ExpectedBlock("text", {"text": Literally("x")})),
    ({"text": {"prefix_of": "x"}}, ExpectedBlock("text", {"text": PrefixOf("x")})),
    ({"refusal": "x"}, ExpectedBlock("refusal", {"text": Literally("x")})),
    ({"thinking": "x"}, ExpectedBlock("thinking", {"text": Literally("x")})),
    ({"thinking": {"text": "x"}}, ExpectedBlock("thinking", {"text": Literally("x")})),
    ({"thinking": {"present": True}}, ExpectedBlock("thinking", {"text": Present(present=True)})),
    ({"thinking": {"redacted": True}}, ExpectedBlock("thinking", {"redacted": TRUE})),
    ({"tool_call": {"name": "f"}}, ExpectedBlock("tool_call", DEFAULTS | {"name": Literally("f")})),
    (
        {"tool_call": {"name": "f", "complete": False, "executor": "provider"}},
        ExpectedBlock(
            "tool_call",
            {"name": Literally("f"), "complete": Literally(value=False), "executor": Literally("provider")},
        ),
    ),
    (
        {"tool_call": {"name": "f", "arguments": {"matches": "x", "any_of": [1]}}},
        ExpectedBlock(
            "tool_call",
            DEFAULTS | {"name": Literally("f"), "arguments": Literally({"matches": "x", "any_of": [1]})},
        ),
    ),
    (
        {"tool_call": {"arguments_digest": {"length": 2, "sha256": "00"}, "citations": {"matches": "x"}}},
        ExpectedBlock(
            "tool_call",
            DEFAULTS | {"arguments": Digest(((2, "00"),)), "citations": Literally({"matches": "x"})},
        ),
    ),
    (
        {"text": {"text": "x", "citations": [1]}},
        ExpectedBlock("text", {"text": Literally("x"), "citations": Literally([1])}),
    ),
    ({"thinking": {"signature": "s"}}, ExpectedBlock("thinking", {"signature": Literally("s")})),
    ({"refusal": {"any_of": ["x"]}}, ExpectedBlock("refusal", {"text": AnyOf(("x",))})),
    (
        {"other": {"kind": "image", "data": {"present": True}}},
        ExpectedBlock("other", {"kind": Literally("image"), "data": Literally({"present": True})}),
    ),
]


@pytest.mark.parametrize(("given", "expected"), BLOCKS, ids=[str(given)[:40] for given, _ in BLOCKS])
def test_a_short_block_equals_its_long_form(given, expected):
    """Arguments and data are literal JSON, because a tool may have an argument called `matches`."""
    assert parse_block(given) == expected


@pytest.mark.parametrize(("status", "judged"), [("complete", True), ("incomplete", False), ("error", False)])
def test_no_error_is_expected_of_a_complete_answer_only(status, judged):
    assert ("error" in parse(BASE | {"status": status}).fields) is judged


def test_fields_are_named_by_their_path_and_null_groups_are_one_leaf():
    groups = {"usage": {"input": 1}, "cost": None, "error": {"type": "x"}}
    names = {"model": "m", "response_id": {"present": True}, "continuation": "c"}
    assert parse(BASE | groups | names).fields == {
        "status": Literally("complete"),
        "stop.reason": Literally("stop"),
        "usage.input": Literally(1),
        "cost": Literally(None),
        "error.type": Literally("x"),
        "model": Literally("m"),
        "response_id": Present(present=True),
        "continuation": Literally("c"),
    }
    assert parse(BASE | {"error": {"type": "x"}}).fields["error.type"] == Literally("x")


UNKNOWN = AnyOf((None, 0), "the stream does not give this count", (None,))


def test_a_null_count_is_unknown_and_null_usage_is_seven_unknown_counts():
    counts = {"input": None, "output": 0, "reasoning": {"any_of": [1, None]}}
    fields = parse(BASE | {"usage": counts}).fields
    assert fields["usage.input"] == UNKNOWN
    assert fields["usage.output"] == Literally(0)
    assert fields["usage.reasoning"] == AnyOf((1, None))
    nothing = parse(BASE | {"usage": None}).fields
    paths = [path for path in nothing if path.startswith("usage")]
    assert paths == [f"usage.{bucket}" for bucket in Usage.__slots__]
    assert {nothing[path] for path in paths} == {UNKNOWN}


@pytest.mark.parametrize(
    ("status", "stop", "statuses", "reasons"),
    [
        ("incomplete", None, AnyOf(("incomplete", "error")), AnyOf(("error", None, "other"))),
        ("error", "error", Literally("error"), AnyOf(("error", None, "other"))),
        ("incomplete", "error", AnyOf(("incomplete", "error")), Literally("error")),
        ("error", None, Literally("error"), Literally(None)),
        ("incomplete", "length", AnyOf(("incomplete", "error")), Literally("length")),
    ],
)
def test_a_stream_that_failed_without_a_reason_may_have_any_reason_of_failed_ones(
    status, stop, statuses, reasons
):
    fields = parse({"status": status, "stop": stop, "content": []}).fields
    assert fields == {"status": statuses, "stop.reason": reasons}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"output": {"matches": "x"}}, Literally({"matches": "x"})),
        ({"any_of": [1, {"present": True}], "why": "w"}, AnyOf((1, {"present": True}), "w")),
        ({"counts": "equal"}, Counts("equal")),
    ],
)
def test_the_result_of_a_function_is_literal_json_or_an_order_of_counts(given, expected):
    assert parse_output(given) == expected


LEAVES = [
    (None, Literally(None)),
    ({"matches": "^a$", "why": "w"}, Matches(re.compile("^a$"), "w")),
    ({"present": False, "why": "w"}, Present(present=False, why="w")),
    ({"any_of": [0, None]}, AnyOf((0, None))),
    ({"any_of": [0, None], "prefer": [0], "why": "w"}, AnyOf((0, None), "w", (0,))),
    ({"prefix_of": "abc", "why": "w"}, PrefixOf("abc", "w")),
    ({"length": 3, "sha256": "00"}, Digest(((3, "00"),))),
]


@pytest.mark.parametrize(("given", "expected"), LEAVES, ids=str)
def test_a_matcher_is_displayed_as_written(given, expected):
    assert parse_leaf(given) == expected
    stated = (
        {key: value for key, value in given.items() if key != "why"} if isinstance(given, dict) else given
    )
    assert serialize_leaf(expected) == stated


def test_of_joined_digests_only_the_whole_length_is_displayed():
    assert serialize_leaf(Digest(((3, "00"), (4, "11")))) == {"length": 7}
