"""A claim is compared, or the run says that it never was; unknown keys are listed with what they mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.adapters.interface import Observation
from streamconform.adapters.protocol import RAISED_OUTCOME
from streamconform.judge.claims import ComparedClaims, find_compared, join_claims
from streamconform.judge.compare import BLOCK_MISSING
from streamconform.judge.decode import decode_outcome
from streamconform.judge.judge import judge
from streamconform.judge.unknown_keys import (
    KEY_ALIASES,
    KNOWN_KEYS,
    MAX_PATH,
    MAX_UNKNOWN_KEYS,
    find_unknown_keys,
    suggest_key,
)
from streamconform.model.capability import CAPABILITIES
from streamconform.model.result import (
    Footer,
    Raised,
    UncomparedClaim,
)
from streamconform.model.verdict import Check
from streamconform.run.claims import find_uncompared_claims
from streamconform.run.merge import merge
from streamconform.suite.expectation import parse

from . import builders

CLAIMS = CAPABILITIES - {"events"}
THOUGHT = {"type": "thinking", "text": "hm", "signature": "sig"}
EXPECT = {
    "status": "complete",
    "stop": {"reason": "stop", "raw": "end_turn"},
    "content": [{"thinking": {"text": "hm", "signature": "sig"}}, {"text": "Hi"}],
    "usage": {"input": 3, "output": 0, "cache_read": 2, "reasoning": 1, "web_searches": None},
    "cost": {"total": "0.1"},
}
GOT = {
    "status": "complete",
    "stop": {"reason": "stop", "raw": "end_turn"},
    "content": [THOUGHT, {"type": "text", "text": "Hi"}],
    "usage": {"input": 3, "output": 0, "cache_read": 2, "reasoning": 1, "web_searches": None},
    "cost": {"total": "0.1"},
}
EVERY = ("cache_usage", "cost", "raw_stop", "signatures", "usage", "usage_details")
OF_USAGE = ("cache_usage", "usage", "usage_details")


def judged(outcome, expect=EXPECT, claims=CLAIMS, **given):
    trial = builders.trial(builders.case(expect))
    return judge(trial, Observation(outcome, **given), claims, lambda _: None)


def without(*names):
    return tuple(name for name in EVERY if name not in names)


@pytest.mark.parametrize(
    ("change", "uncompared", "failed"),
    [
        ({}, (), ()),
        ({"usage": {"output": 0}}, ("cache_usage", "usage_details"), ()),
        ({"usage": {"input_tokens": 9}}, OF_USAGE, ("usage.input", "usage.output")),
        ({"usage": {}}, OF_USAGE, ("usage.input", "usage.output")),
        ({"usage": ...}, OF_USAGE, ("usage.input", "usage.output")),
        # A library that reports null was compared.
        ({"usage": None}, (), ("usage.input", "usage.output")),
        ({"usage": {"input": None, "total_tokens": 9}}, (), ("usage.input", "usage.output")),
        ({"cost": {"amount": "1"}}, ("cost",), ("cost.total",)),
        # No amount is exposed, so none is wrong; the claim is still not compared.
        ({"cost": {"currency": "USD"}}, ("cost",), ()),
        ({"stop": {"reason": "stop"}}, ("raw_stop",), ()),
        ({"content": [{"type": "thinking", "text": "hm"}, *GOT["content"][1:]]}, ("signatures",), ()),
        (
            {"content": [{**THOUGHT, "signature": None}, *GOT["content"][1:]]},
            (),
            ("content.0.thinking.signature",),
        ),
    ],
    ids=str,
)
def test_a_value_is_compared_or_named_and_a_group_without_a_known_key_is_null(change, uncompared, failed):
    outcome = {name: value for name, value in (GOT | change).items() if value is not ...}
    judgement = judged(outcome)
    assert judgement.claims.uncompared == uncompared
    assert judgement.claims.compared == without(*uncompared)
    assert {check.path for check in judgement.checks} >= {*failed}
    assert bool(judgement.checks) == bool(failed)
    assert judgement.culprit == ("implementation" if failed else None)


def test_a_misspelt_group_and_a_group_that_is_left_out_have_the_same_checks():
    misspelt = judged(GOT | {"usage": {"input_tokens": 9}})
    assert misspelt.checks == judged({k: v for k, v in GOT.items() if k != "usage"}).checks


def test_an_error_without_a_known_key_is_no_error():
    assert judged(GOT | {"error": {"detail": "x"}}).verdict == "pass"


def test_an_exception_reports_the_error_although_the_group_is_left_out():
    expect = {
        "status": "error",
        "stop": "error",
        "content": [],
        "error": {"message": "overloaded", "type": "x"},
    }
    claims = judged(RAISED_OUTCOME, expect, raised=Raised("lib.Error", "overloaded", None)).claims
    assert (claims.compared, claims.uncompared) == (("errors",), ())


@pytest.mark.parametrize(
    ("outcome", "given", "claims"),
    [
        (RAISED_OUTCOME, {"raised": Raised("lib.Error", "no", None)}, CLAIMS),
        ({"status": "error", "content": []}, {}, CLAIMS),
        ({"status": "done", "content": []}, {}, CLAIMS),
        ({k: v for k, v in GOT.items() if k != "usage"}, {}, frozenset({"tool_calls"})),
    ],
    ids=["raised", "error", "malformed", "nothing-claimed"],
)
def test_an_answer_that_explains_what_is_missing_says_nothing_about_usage(outcome, given, claims):
    judgement = judged(outcome, claims=claims, **given)
    assert "usage" not in judgement.claims.compared + judgement.claims.uncompared


def test_only_a_case_that_expects_a_value_counts():
    expect = EXPECT | {"content": [{"text": "Hi"}], "usage": {"input": None}, "cost": None}
    outcome = {"status": "complete", "stop": {"reason": "stop", "raw": "end_turn"}, "content": []}
    assert judged(outcome, expect).claims.uncompared == ()


def result(number=0, **fields):
    return builders.result(case=f"a/b/c{number}", **fields)


LEFT_OUT, COMPARED = result(uncompared=("usage",)), result(compared=("usage",), number=1)
LISTED = replace(LEFT_OUT, verdict="known")


@pytest.mark.parametrize(
    ("trials", "count"),
    [
        ((), 0),
        ((result(verdict="faulted"), result(verdict="hang"), result(verdict="skipped")), 0),
        ((LEFT_OUT, LEFT_OUT), 2),
        ((LEFT_OUT, COMPARED), 0),
        ((LEFT_OUT, replace(COMPARED, verdict="known")), 0),
        ((LEFT_OUT, replace(COMPARED, implementation=1)), 1),
        # The user has listed it.
        ((LISTED,), 0),
        ((LISTED, LEFT_OUT), 1),
    ],
)
def test_a_claim_fails_a_run_if_a_value_was_expected_but_none_compared(trials, count):
    claim = UncomparedClaim(implementation=0, capability="usage", trials=count)
    assert find_uncompared_claims(trials) == ((claim,) if count else ())


def shard(trial, code):
    footer = Footer(
        counts={trial.verdict: 1}, exit=code, complete=True, claims=find_uncompared_claims([trial])
    )
    return builders.results(trial, footer=footer)


@pytest.mark.parametrize(
    ("other", "code", "claims", "merged"),
    [
        (COMPARED, 0, 0, 0),
        (replace(LEFT_OUT, id="a/b/d@as-is"), 1, 1, 1),
        (replace(COMPARED, verdict="fail"), 1, 0, 1),
        (replace(COMPARED, verdict="faulted"), 3, 0, 3),
    ],
)
def test_merged_shards_decide_claims_again(other, code, claims, merged):
    footer = merge([("a", shard(LEFT_OUT, 1)), ("b", shard(other, code))]).footer
    assert (len(footer.claims), footer.exit) == (claims, merged)


def test_shards_that_ended_early_decide_no_claims():
    stopped = shard(COMPARED, 130)
    stopped = replace(stopped, trials=(), footer=replace(stopped.footer, complete=False))
    footer = merge([("a", shard(LEFT_OUT, 1)), ("b", stopped)]).footer
    assert (footer.claims, footer.exit) == ((), 130)


UNKNOWN = {
    "status": "complete",
    "finish_reason": "stop",
    "usage": {"input_tokens": 1, "input": 2},
    "stop": {"stop_reason": "x"},
    "cost": None,
    "content": [
        {"type": "tool_call", "name": "f", "arguments": {"args": 1}, "args": {}},
        {"type": "tool_call", "name": "f", "arguments": None, "args": {}},
        {"type": "text", "text": "Hi", "txet": 1},
        {"type": "other", "data": {"x": 1}},
    ],
}


def test_unknown_keys_are_found_in_the_outcome_its_groups_and_its_blocks_without_indices():
    paths = ("finish_reason", "stop.stop_reason", "text.txet", "tool_call.args", "usage.input_tokens")
    assert find_unknown_keys(UNKNOWN) == paths
    assert find_unknown_keys(GOT) == ()
    assert judged(GOT | {"usage": GOT["usage"] | {"total": 5}}).unknown_keys == ("usage.total",)


def test_the_list_of_unknown_keys_is_bounded():
    blocks = [{"type": "text", "text": "", f"{'x' * 200}{n}": 1, f"k{n}": 1} for n in range(100)]
    paths = find_unknown_keys({"content": blocks})
    assert len(paths) == MAX_UNKNOWN_KEYS
    assert max(map(len, paths)) == MAX_PATH


@pytest.mark.parametrize(
    ("path", "suggestion"),
    [
        ("usage.input_tokens", "input"),
        ("usage.prompt_tokens", "input"),
        ("usage.completion_tokens", "output"),
        ("usage.cache_read_input_tokens", "cache_read"),
        ("usage.cache_creation_input_tokens", "cache_write"),
        ("usage.reasoning_tokens", "reasoning"),
        ("finish_reason", "stop"),
        ("stop.finish_reason", "reason"),
        ("tool_calls", "content"),
        ("tool_call.args", "arguments"),
        ("tool_call.input", "arguments"),
        ("cots", "cost"),
        ("text.txet", "text"),
        ("usage.total_tokens", None),
        ("x.y", None),
    ],
)
def test_a_near_miss_names_the_known_key(path, suggestion):
    assert suggest_key(path) == (f"; did you mean `{suggestion}`?" if suggestion else "")


def test_every_alias_means_a_known_key():
    known = frozenset().union(*KNOWN_KEYS.values())
    assert {name for names in KEY_ALIASES.values() for name in names} <= known


CLIENTS, PROVIDERS = (
    {"tool_call": {"name": "f", "executor": name, "signature": "s"}} for name in ("client", "provider")
)


@pytest.mark.parametrize(
    ("entry", "block", "needed"),
    [
        ({"thinking": {"text": "a", "signature": "s"}}, {"type": "thinking", "text": "a"}, "thinking"),
        (CLIENTS, {"type": "tool_call", "name": "f"}, "tool_calls"),
        (PROVIDERS, {"type": "tool_call", "name": "f", "executor": "provider"}, "provider_tools"),
        ({"text": {"text": "a", "signature": "s"}}, {"type": "text", "text": "a"}, "signatures"),
    ],
    ids=["thinking", "client", "provider", "text"],
)
def test_a_signature_is_left_out_only_in_a_block_that_is_judged(entry, block, needed):
    expect = parse({"status": "complete", "stop": "stop", "content": [entry]})
    outcome = decode_outcome({"status": "complete", "content": [block]})
    claims = frozenset({"signatures", needed})
    assert find_compared(expect, outcome, claims, (), raised=False).uncompared == ("signatures",)
    assert find_compared(expect, outcome, CAPABILITIES - {needed}, (), raised=False).uncompared == ()


PASSED = Check(path="content.0.thinking.signature", level="must", verdict="pass", expected="s", got="s")


@pytest.mark.parametrize(
    ("change", "is_compared"),
    [
        ({}, True),
        ({"verdict": "fail", "got": "t"}, True),
        ({"verdict": "fail", "got": None}, True),
        ({"verdict": "fail", "got": None, "message": BLOCK_MISSING}, False),
        ({"got": None}, False),
        ({"expected": None}, False),
        ({"path": "content.0.thinking.text"}, False),
    ],
    ids=["passed", "another", "null", "missing", "rightly-left-out", "none-expected", "another-field"],
)
def test_a_signature_is_compared_by_a_check_on_its_value(change, is_compared):
    expect = parse({"status": "complete", "stop": "stop", "content": EXPECT["content"]})
    outcome = decode_outcome({"status": "complete", "content": []})
    checks = [replace(PASSED, **change)]
    found = find_compared(expect, outcome, frozenset({"signatures"}), checks, raised=False)
    assert found.compared == (("signatures",) if is_compared else ())


def test_a_signature_that_may_be_null_needs_no_comparison():
    text = {"text": {"text": "a", "signature": {"any_of": ["s", None]}}}
    expect = parse({"status": "complete", "stop": "stop", "content": [text]})
    outcome = decode_outcome({"status": "complete", "content": [{"type": "text", "text": "a"}]})
    assert find_compared(expect, outcome, frozenset({"signatures"}), (), raised=False).uncompared == ()


def test_the_claims_of_two_answers_are_compared_if_one_compares_them():
    one, other = ComparedClaims(("cost",), ("usage",)), ComparedClaims(("usage",), ("errors", "cost"))
    assert join_claims([one, other]) == ComparedClaims(("cost", "usage"), ("errors",))
