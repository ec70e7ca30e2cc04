"""Comparing an outcome with an expectation: the checks and their messages."""

from __future__ import annotations

import pytest

from streamconform.judge import decode
from streamconform.judge.compare import compare_outcome, format_call, list_unexposed, sum_cache_usage
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import NOTHING_EXPECTED
from streamconform.model.outcome import ToolCall
from streamconform.model.verdict import Check
from streamconform.suite.expectation import parse, serialize_leaf

from . import builders

ALL = CAPABILITIES
EXPECT = {
    "status": "complete",
    "stop": {"reason": "tool_use", "raw": "tool_use"},
    "content": [
        {"thinking": {"text": "hm", "signature": "sig"}},
        {"text": "Let me"},
        {"text": " look."},
        {"tool_call": {"name": "f", "arguments": {"n": 1}}},
    ],
    "usage": {"input": 3, "cache_read": 0},
    "cost": {"currency": "USD", "total": "0.10"},
    "model": "m",
}
GOT = {
    "status": "complete",
    "stop": {"reason": "tool_use", "raw": "tool_use"},
    "content": [
        {"type": "thinking", "text": "hm", "signature": "sig"},
        {"type": "other", "kind": "x"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_call", "id": "1", "name": "f", "arguments": {"n": 1.0}, "complete": True},
    ],
    "usage": {"input": 3, "cache_read": 0},
    "cost": {"total": "0.1000"},
    "model": "m",
}
PATHS = [
    "status",
    "stop.reason",
    "stop.raw",
    "usage.input",
    "usage.cache_read",
    "cost.currency",
    "cost.total",
    "model",
    "error",
    "content.length",
    "content.0.thinking.text",
    "content.0.thinking.signature",
    "content.1.text",
    "content.2.tool_call.complete",
    "content.2.tool_call.executor",
    "content.2.tool_call.name",
    "content.2.tool_call.arguments",
]


def checks(expect=EXPECT, got=GOT, claims=ALL, level="must"):
    return {
        check.path: check
        for check in compare_outcome(parse(expect), decode.decode_outcome(got), claims, level)
    }


def failed(expect=EXPECT, got=GOT, claims=ALL, level="must"):
    return {path for path, check in checks(expect, got, claims, level).items() if check.verdict != "pass"}


def test_every_leaf_is_a_check_with_a_path_in_the_shape_of_the_spec():
    assert list(checks()) == PATHS
    assert failed() == set()


def got_with(**changes):
    return GOT | changes


def block_with(at, **changes):
    return got_with(content=[block | changes if i == at else block for i, block in enumerate(GOT["content"])])


DIFFER = [
    (got_with(status="incomplete"), {"status"}),
    (got_with(stop=None), {"stop.reason"}),
    (got_with(stop={"reason": None, "raw": None}), {"stop.reason", "stop.raw"}),
    (got_with(usage={"input": 3, "cache_read": None}), {"usage.cache_read"}),
    (got_with(usage={"input": 3}), set()),
    (got_with(usage=None), {"usage.input", "usage.cache_read"}),
    (got_with(cost={"total": "0.2"}), {"cost.total"}),
    (got_with(cost=None), {"cost.total", "cost.currency"}),
    (got_with(error={"type": "x"}), {"error"}),
    (got_with(model=None), {"model"}),
    (block_with(0, signature="gis"), {"content.0.thinking.signature"}),
    (block_with(2, text="Let me look"), {"content.1.text"}),
    (block_with(3, arguments={"n": True}), {"content.2.tool_call.arguments"}),
    (block_with(3, complete=False), {"content.2.tool_call.complete"}),
    (block_with(3, complete=None), set()),
    (block_with(3, executor="provider"), {"content.2.tool_call.executor"}),
    (got_with(content=GOT["content"][:3]), {"content.length", *PATHS[-4:]}),
    (got_with(content=GOT["content"][1:]), {"content.length", *PATHS[10:12]}),
    (got_with(content=[*GOT["content"], GOT["content"][0]]), {"content.length"}),
]


@pytest.mark.parametrize(("got", "paths"), DIFFER, ids=[min(paths, default="none") for _, paths in DIFFER])
def test_a_difference_fails_its_own_checks_and_no_others(got, paths):
    assert failed(got=got) == paths


NEEDS = [
    ("thinking", {"content.0.thinking.text"}),
    ("signatures", {"content.0.thinking.signature"}),
    ("usage", {"usage.input"}),
    ("cache_usage", {"usage.cache_read", "usage.cache_write"}),
    ("cost", {"cost.total", "cost.currency"}),
    ("errors", {"error"}),
    ("tool_calls", {"content.2.tool_call.name"}),
]


@pytest.mark.parametrize(("capability", "paths"), NEEDS, ids=[capability for capability, _ in NEEDS])
def test_fields_without_a_claim_are_not_judged(capability, paths):
    left = checks(claims=ALL - {capability})
    assert not paths & set(left)
    assert all(each.verdict == "pass" for each in left.values())


def test_status_stop_and_text_are_always_judged():
    assert {"status", "stop.reason", "content.length", "content.0.text"} <= set(checks(claims=frozenset()))


@pytest.mark.parametrize(("level", "verdict"), [("must", "fail"), ("should", "warn"), ("may", "may")])
def test_a_difference_is_called_by_the_level(level, verdict):
    check = checks(got=got_with(status="error"), level=level)["status"]
    assert check == Check(path="status", level=level, verdict=verdict, expected="complete", got="error")


def test_a_group_that_is_expected_to_be_null_is_shown_with_its_fields():
    found = checks(EXPECT | {"cost": None, "error": None}, got_with(error={"message": "m", "status": 500}))
    assert found["error"].got == {"type": None, "message": "m", "status": 500}
    assert found["cost"].got["total"] == "0.1000"


def test_integers_that_javascript_cannot_keep_are_should():
    call = {"tool_call": {"name": "f", "arguments": {"n": 2**53 + 1}}}
    found = checks(EXPECT | {"content": [*EXPECT["content"][:3], call]})["content.2.tool_call.arguments"]
    assert (found.level, found.verdict) == ("should", "warn")


def test_arguments_of_a_call_that_had_not_ended_are_not_compared():
    call = {"tool_call": {"name": "f", "arguments": {"n": 9}, "complete": False}}
    found = checks(EXPECT | {"content": [*EXPECT["content"][:3], call]}, block_with(3, complete=False))
    assert "content.2.tool_call.arguments" not in found


def test_a_missing_block_fails_even_if_null_is_expected():
    content = [{"tool_call": {"name": "f", "id": {"present": False}}}]
    found = checks(EXPECT | {"content": content}, got_with(content=[]))["content.0.tool_call.id"]
    assert (found.verdict, found.message) == ("fail", "content block missing")
    assert found.expected == {"present": False}


def test_a_missing_block_fails_only_its_claimed_fields():
    left = failed(got=got_with(content=GOT["content"][1:]), claims=ALL - {"signatures"})
    assert left == {"content.length", "content.0.thinking.text"}


def test_null_usage_is_expected_if_none_was_reported():
    assert failed(builders.TEXT_EXPECT | {"usage": None}, builders.TEXT_OUTCOME | {"usage": {}}) == set()
    assert failed(builders.TEXT_EXPECT | {"usage": None}, builders.TEXT_OUTCOME) == {
        "usage.input",
        "usage.output",
    }


@pytest.mark.parametrize(
    ("usage", "got", "verdict"),
    [
        ({"input": None}, {"input": None}, "pass"),
        ({"input": None}, {"input": 0}, "warn"),
        ({"input": None}, {"input": 5}, "fail"),
        ({"input": 5}, {"input": 0}, "fail"),
        (None, {"input": 0, "cache_read": 0, "cache_write": 0, "output": 0}, "warn"),
    ],
)
def test_an_unknown_count_that_is_reported_as_zero_is_a_warning(usage, got, verdict):
    found = checks(EXPECT | {"usage": usage}, got_with(usage=got))
    assert found["usage.input"].verdict == verdict


def test_a_cost_that_is_preferred_is_compared_as_an_amount():
    total = {"any_of": [None, "0.1"], "prefer": ["0.1"]}
    assert checks(EXPECT | {"cost": {"total": total}})["cost.total"].verdict == "pass"


def test_a_broken_answer_without_an_expectation_has_no_checks():
    outcome = decode.decode_outcome(got_with(status="error", content=[]))
    assert [*compare_outcome(NOTHING_EXPECTED, outcome, ALL, "must")] == []


def test_of_an_incomplete_answer_the_error_is_not_judged():
    expect = builders.TEXT_EXPECT | {"status": "incomplete"}
    assert failed(expect, builders.TEXT_OUTCOME | {"status": "incomplete", "error": {"type": "x"}}) == set()


LENGTHS = [
    (EXPECT["content"], "expected 3 blocks [thinking, text, tool_call], got 0 []"),
    (EXPECT["content"][3:], "expected 1 block [tool_call], got 0 []"),
    (EXPECT["content"][3:] * 12, f"expected 12 blocks [{', '.join(['tool_call'] * 12)}], got 0 []"),
    (EXPECT["content"][3:] * 13, f"expected 13 blocks [{', '.join(['tool_call'] * 12)}, …], got 0 []"),
]


@pytest.mark.parametrize(("content", "message"), LENGTHS, ids=["types", "one", "limit", "beyond-the-limit"])
def test_a_wrong_length_lists_the_block_types(content, message):
    found = checks(EXPECT | {"content": content}, got_with(content=[]))["content.length"]
    assert (found.expected, found.got) == (int(message.split()[1]), 0)
    assert found.message == message


SUMS = [
    ({"input": 5}, 5),
    ({"input": 5, "cache_read": 7, "cache_write": 11}, 23),
    ({"input": {"any_of": [5, 6]}}, {"any_of": [5, 6]}),
    ({"input": 5, "cache_read": None, "cache_write": None}, 5),
    ({"input": None}, {"any_of": [None, 0], "prefer": [None]}),
    (
        {"input": 5, "cache_read": {"any_of": [2, 0], "prefer": [2]}},
        {"any_of": [5, 7], "prefer": [7]},
    ),
    ({"input": {"any_of": [5, None]}, "cache_read": {"any_of": [2, 0]}}, {"any_of": [None, 5, 7]}),
    ({"input": {"present": True}, "cache_read": 7}, {"present": True}),
]


@pytest.mark.parametrize(("usage", "total"), SUMS)
def test_input_includes_the_cache_for_a_library_with_one_number(usage, total):
    fields = parse(EXPECT | {"usage": usage}).fields
    assert serialize_leaf(sum_cache_usage(fields, ALL - {"cache_usage"})["usage.input"]) == total


NO_STOP = ALL - {"stop"}


@pytest.mark.parametrize(
    ("claims", "stop", "verdict"),
    [
        (ALL, {"reason": "length"}, "pass"),
        (ALL, {"reason": "stop"}, "fail"),
        (ALL, {"reason": None}, "fail"),
        (ALL, None, "fail"),
        (ALL, "absent", "fail"),
        (NO_STOP, "absent", None),
        (NO_STOP, None, "fail"),
        (NO_STOP, {"reason": "stop"}, "fail"),
        (NO_STOP, {"reason": "length"}, "pass"),
    ],
)
def test_a_stop_reason_may_be_left_out_only_without_the_claim(claims, stop, verdict):
    expect = parse({"status": "complete", "stop": "length", "content": []})
    got = {"status": "complete", "content": []} | ({} if stop == "absent" else {"stop": stop})
    outcome = decode.decode_outcome(got)
    checks = {check.path: check.verdict for check in compare_outcome(expect, outcome, claims, "must")}
    assert checks.get("stop.reason") == verdict
    hidden = verdict is None
    assert ("stop.reason" in list_unexposed(expect, outcome, claims)) == hidden


@pytest.mark.parametrize("reason", ["stop", "tool_use", {"any_of": [None, "error"]}])
def test_a_reason_that_follows_from_the_answer_is_not_missed(reason):
    expect = parse({"status": "complete", "stop": {"reason": reason}, "content": []})
    outcome = decode.decode_outcome({"status": "complete", "content": []})
    assert list_unexposed(expect, outcome, NO_STOP - {"raw_stop"}) == ()


CITED = {"source": "x", "start": 0, "end": 2}


@pytest.mark.parametrize(
    ("got", "passes"),
    [
        ([CITED], True),
        ([CITED | {"title": "unnamed"}], True),
        ([{"source": "x"}], True),
        ([CITED | {"end": 3}], False),
        ([CITED, CITED], False),
        ([], False),
        (None, None),
    ],
    ids=["same", "more-keys", "fewer-keys", "wrong", "twice", "none", "left-out"],
)
@pytest.mark.parametrize(
    ("status", "verdict", "level"), [("complete", "fail", "must"), ("incomplete", "warn", "should")]
)
def test_citations_are_compared_by_the_keys_that_both_sides_name(got, passes, status, verdict, level):
    text = {"text": {"text": "ab", "citations": [CITED]}}
    expect = {"status": status, "stop": None, "content": [text]}
    block = {"type": "text", "text": "ab"} | ({} if got is None else {"citations": got})
    found = checks(expect, {"status": status, "content": [block]}).get("content.0.text.citations")
    if passes is None:
        assert found is None
    else:
        assert (found.verdict, found.level) == ("pass" if passes else verdict, level)
        assert (found.expected, found.got) == (
            [CITED],
            [{key: one[key] for key in one if key in CITED} for one in got],
        )


def test_an_empty_signature_is_none():
    thinking = {"thinking": {"text": "a", "signature": None}}
    got = [{"type": "thinking", "text": "a", "signature": ""}]
    found = checks(EXPECT | {"content": [thinking]}, got_with(content=got))["content.0.thinking.signature"]
    assert (found.verdict, found.got) == ("pass", None)


def test_a_wrong_refusal_fails():
    got = got_with(content=[{"type": "refusal", "text": "b"}])
    assert failed(EXPECT | {"content": [{"refusal": "a"}]}, got) == {"content.0.refusal"}


DEEP: list[object] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ({"name": "f", "arguments": {"city": "Köln"}}, 'f({"city": "Köln"})'),
        ({"arguments": 1}, "a call without a name(1)"),
        ({"name": "f", "arguments": "x" * 100}, f'f("{"x" * 67}…{"x" * 9}")'),
        ({"name": "f", "arguments": DEEP, "arguments_text": "[["}, "f([[)"),
        ({"name": "f", "arguments": DEEP}, "f(…)"),
    ],
    ids=["text", "no-name", "long", "deep", "deep-without-text"],
)
def test_a_call_in_a_message_is_short(call, shown):
    assert format_call(ToolCall(**call)) == shown
