"""What is still expected of a trial whose stream is seen through another api."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from streamconform.judge.proxy_expectation import adapt_to_proxy, check_rules
from streamconform.model.case import Expectation, ExpectedBlock, Partial
from streamconform.model.leaf import AnyOf, Literally
from streamconform.model.trial import ProxyView, Trial

from . import builders

RULES = {"grammar.one-terminal": "must", "grammar.arguments-parse": "must", "http.content-type": "should"}


def seen(
    fields: dict[str, Any], *blocks: ExpectedBlock, api: str = "anthropic-messages", **more: Any
) -> Trial:
    leaves = {path: leaf if isinstance(leaf, AnyOf) else Literally(leaf) for path, leaf in fields.items()}
    case = replace(builders.case(), expect=Expectation(blocks, leaves, **more))
    return adapt_to_proxy(builders.trial(case), ProxyView(api, RULES))


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
        ("anthropic-messages", "usage.input", None, None),
        ("anthropic-messages", "usage.reasoning", 7, None),
        ("anthropic-messages", "usage.cache_read", 0, AnyOf((0, None))),
        ("openai-chat", "usage.cache_write", 5, None),
        ("openai-chat", "stop.reason", AnyOf(("stop", "length")), AnyOf(("stop", "length"))),
    ],
)
def test_a_leaf_is_limited_to_what_the_other_api_can_express(api, path, given, expected):
    assert seen({"status": "complete", path: given}, api=api).expect.fields.get(path) == expected


@pytest.mark.parametrize("more", [{"partial": Partial(0)}, {}])
def test_no_usage_is_expected_of_an_incomplete_answer(more):
    assert "usage.output" not in seen({"status": "incomplete", "usage.output": 7}, **more).expect.fields


def test_thoughts_that_nothing_divides_are_one():
    thoughts = [block("thinking", text=text) for text in ("a", "b")]
    content = seen(
        {"status": "complete"}, *thoughts, block("text", text="c"), api="openai-chat"
    ).expect.content
    assert content == (block("thinking", text="ab"), block("text", text="c"))
    assert len(seen({"status": "complete"}, *thoughts).expect.content or ()) == 2


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
    assert only.fields["complete"] == AnyOf((False, True))
    assert only.fields["arguments"] == Literally(None)


def test_in_an_answer_that_failed_a_call_may_stay_open():
    call = block("tool_call", name="f", arguments={}, complete=True, executor="client")
    (only,) = seen({"status": "error"}, call).expect.content or ()
    assert only.fields["complete"] == AnyOf((True, False))


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


def test_arguments_that_the_model_malformed_need_not_parse_after_a_proxy():
    trial = seen({"status": "complete"}, block("tool_call", name="f", arguments=None, complete=True))
    assert "grammar.arguments-parse" not in {check.path for check in check_rules(trial, ())}
    assert trial.through is not None
    assert trial.through.held


def test_a_trial_that_is_not_seen_through_anything_has_no_rules():
    assert [*check_rules(builders.trial(), (("grammar.one-terminal", "none"),))] == []
