"""The remaining expectations if a trial's stream is translated to another API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streamconform.judge.proxy_expectation import adapt_to_proxy, check_rules
from streamconform.model.case import Expectation, ExpectedBlock, Partial
from streamconform.model.leaf import AnyOf, Literally
from streamconform.model.trial import Delivered, ProxyView, Trial

from . import builders

RULES = {"grammar.one-terminal": "must", "grammar.arguments-parse": "must", "http.content-type": "should"}


def seen(
    fields: dict[str, Any], *blocks: ExpectedBlock, api: str = "anthropic-messages", **more: Any
) -> Trial:
    return seen_as(expectation(fields, *blocks, **more), api=api)


def seen_as(
    expect: Expectation, *, api: str = "anthropic-messages", derived: Expectation | None = None
) -> Trial:
    trial = builders.trial(replace(builders.case(), expect=expect))
    return adapt_to_proxy(replace(trial, plan=Delivered(trial.chunks, derived)), ProxyView(api, RULES))


def expectation(fields: dict[str, Any], *blocks: ExpectedBlock, **more: Any) -> Expectation:
    leaves = {path: leaf if isinstance(leaf, AnyOf) else Literally(leaf) for path, leaf in fields.items()}
    return Expectation(blocks, leaves, **more)


def block(kind: Any, /, **fields: Any) -> ExpectedBlock:
    return ExpectedBlock(kind, {name: Literally(value) for name, value in fields.items()})


@pytest.mark.parametrize(
    ("api", "path", "given", "expected"),
    [
        ("anthropic-messages", "status", "complete", Literally("complete")),
        ("anthropic-messages", "status", "error", Literally("error")),
        ("anthropic-messages", "stop.reason", AnyOf((None, "error")), AnyOf((None, "error"))),
        ("anthropic-messages", "stop.reason", "length", Literally("length")),
        ("anthropic-messages", "stop.reason", "content_filter", AnyOf(("content_filter", "refusal"))),
        ("openai-chat", "stop.reason", "content_filter", Literally("content_filter")),
        ("openai-chat", "stop.reason", "refusal", AnyOf(("refusal", "content_filter", "stop"))),
        ("anthropic-messages", "stop.raw", "stop", None),
        ("anthropic-messages", "model", "qwen3", None),
        ("anthropic-messages", "error.message", "no", None),
        ("anthropic-messages", "usage.input", 7, Literally(7)),
        ("anthropic-messages", "usage.input", 0, Literally(0)),
        ("anthropic-messages", "usage.input", None, None),
        ("anthropic-messages", "usage.reasoning", 7, None),
        ("anthropic-messages", "usage.cache_read", 0, AnyOf((0, None))),
        ("anthropic-messages", "usage.cache_read", 5, Literally(5)),
        ("an API that is not known", "stop.reason", "refusal", Literally("refusal")),
        ("an API that is not known", "usage.input", 7, None),
        ("openai-chat", "usage.cache_write", 5, None),
        ("openai-chat", "stop.reason", AnyOf(("stop", "length")), AnyOf(("stop", "length"))),
    ],
)
def test_a_leaf_is_limited_to_what_the_other_api_can_express(api, path, given, expected):
    assert seen({"status": "complete", path: given}, api=api).expect.fields.get(path) == expected


@pytest.mark.parametrize("more", [{"partial": Partial(0)}, {}])
def test_no_usage_is_expected_of_an_incomplete_answer(more):
    assert "usage.output" not in seen({"status": "incomplete", "usage.output": 7}, **more).expect.fields


THOUGHTS = (block("thinking", text="a"), block("thinking", text="b"))
TEXTS = (block("text", text="c"), block("text", text="d"))
UNKNOWN_THOUGHT = ExpectedBlock("thinking", {"text": AnyOf(("b", "B"))})


@pytest.mark.parametrize(
    ("api", "given", "expected"),
    [
        ("openai-chat", (*THOUGHTS, *TEXTS), (block("thinking", text="ab"), *TEXTS)),
        ("openai-chat", (THOUGHTS[0], *TEXTS, THOUGHTS[1]), (THOUGHTS[0], *TEXTS, THOUGHTS[1])),
        ("openai-chat", (*THOUGHTS, UNKNOWN_THOUGHT), (block("thinking"),)),
        ("anthropic-messages", THOUGHTS, THOUGHTS),
    ],
)
def test_thoughts_that_nothing_divides_are_one(api, given, expected):
    assert seen({"status": "complete"}, *given, api=api).expect.content == expected


def test_the_expectation_of_a_broken_stream_is_limited_too():
    whole = expectation({"status": "complete"})
    broken = expectation({"status": "incomplete", "model": "qwen3"}, *THOUGHTS, partial=Partial(0))
    trial = seen_as(whole, api="openai-chat", derived=broken)
    assert trial.case.expect == whole
    joined = block("thinking", text="ab")
    assert trial.expect == expectation({"status": "incomplete"}, joined, partial=Partial(0))


def test_an_expectation_without_content_has_only_its_leaves_limited():
    given = replace(expectation({"status": "error", "model": "qwen3"}), content=None)
    assert seen_as(given).expect == replace(expectation({"status": "error"}), content=None)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (block("text", text="a"), [("text", {"text"})]),
        (block("refusal", text="no"), [("text", {"text"})]),
        (block("thinking", text="a", signature="s", redacted=False), [("thinking", {"text"})]),
        (block("thinking", signature="s", redacted=True), []),
        (block("other", kind="citation"), []),
        (
            block("tool_call", name="f", id="call_1", arguments={"a": 1}, complete=True, executor="client"),
            [("tool_call", {"name", "arguments", "complete", "executor"})],
        ),
        (
            block("tool_call", name="f", arguments=None, complete=True, executor="client"),
            [("tool_call", {"name", "complete", "executor"})],
        ),
    ],
)
def test_a_block_keeps_the_fields_that_pass_through(given, kept):
    content = seen({"status": "complete"}, given).expect.content
    assert [(block.type, set(block.fields)) for block in content or ()] == kept


def test_a_call_that_had_not_ended_may_end_but_has_no_arguments():
    call = block("tool_call", name="f", complete=False, executor="client")
    (only,) = seen({"status": "complete"}, call).expect.content or ()
    leaves = {"name": Literally("f"), "executor": Literally("client")}
    assert only.fields == leaves | {"complete": AnyOf((False, True)), "arguments": Literally(None)}


@pytest.mark.parametrize(
    ("more", "expected"), [({}, AnyOf((True, False))), ({"partial": Partial(0)}, Literally(value=True))]
)
def test_only_in_an_answer_that_failed_a_call_may_stay_open(more, expected):
    call = block("tool_call", name="f", arguments={}, complete=True, executor="client")
    (only,) = seen({"status": "error"}, call, **more).expect.content or ()
    assert only.fields["complete"] == expected


def test_every_rule_is_a_check_and_the_looser_level_counts():
    trial = seen({"status": "complete"})
    broken = (("grammar.one-terminal", "none"), ("grammar.one-terminal", "at all"), ("no.rule", "?"))
    checks = {check.path: (check.level, check.verdict, check.message) for check in check_rules(trial, broken)}
    assert checks == {
        "grammar.one-terminal": ("must", "fail", "none; at all"),
        "grammar.arguments-parse": ("must", "pass", None),
        "http.content-type": ("should", "pass", None),
    }
    lower = replace(trial, level="may")
    assert {check.verdict for check in check_rules(lower, broken)} == {"may", "pass"}


@pytest.mark.parametrize(("arguments", "is_malformed"), [(None, True), ("[]", True), ({"a": 1}, False)])
def test_only_arguments_that_the_model_malformed_need_not_parse_after_a_proxy(arguments, is_malformed):
    trial = seen({"status": "complete"}, block("tool_call", name="f", arguments=arguments, complete=True))
    paths = {check.path for check in check_rules(trial, ())}
    assert paths == RULES.keys() - ({"grammar.arguments-parse"} if is_malformed else set())
    assert trial.through is not None
    assert trial.through.held is is_malformed


def test_a_trial_that_is_not_seen_through_anything_has_no_rules():
    assert [*check_rules(builders.trial(), (("grammar.one-terminal", "none"),))] == []
