"""Which failures form one cause, and its headline, harm and party at fault."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform.causes import roots
from streamconform.causes.difference_kinds import Difference, classify_check
from streamconform.causes.raised import describe_error
from streamconform.causes.table import FOLDS, HARMS, ROWS, find_roots, find_row
from streamconform.judge.compare import (
    BLOCK_MISSING,
    INCLUDES,
    MISLABELED,
    SIGNATURE_AS_THINKING,
    UNCACHED,
)
from streamconform.judge.partial import MAY_BE_CUT, MOVED_BLOCKS
from streamconform.model.result import TrialResult
from streamconform.model.verdict import Check
from streamconform.reports.causes import (
    CULPRITS,
    describe_also,
    describe_harm,
    describe_size,
    group_by_cause,
)
from streamconform.reports.describe import describe_failure
from streamconform_capture.probe.plan import list_cases, list_checked_paths
from streamconform_capture.probe.proxy_rules import list_rules
from streamconform_reference.apis.grammars import GRAMMARS

from ..for_each import for_each
from ..harness import builders

RAISED = {"type": "JSONDecodeError", "message": "line 1 column 5", "where": "lib/sse.py:12 in parse"}
CALL = "content.0.tool_call"
NO_CALL = "expected 1 block [tool_call], got 0 []"
ONE_CALL = "expected 2 blocks [tool_call, tool_call], got 1 [tool_call]"
TWO_CALLS = "expected 1 block [tool_call], got 2 [tool_call, tool_call]"
LENGTH = "content.length"
SPLIT_THINKING = "expected 2 blocks [thinking, text], got 3 [thinking, thinking, text]"
MAY_REFUSE = {"any_of": ["complete", "error"], "prefer": ["complete"]}
"""The status of a stream whose answer a client may refuse, such as one with malformed arguments."""


def check(path, expected=None, got=None, message=None, verdict="fail", level="must"):
    return Check(path=path, level=level, verdict=verdict, expected=expected, got=got, message=message)


def result(*checks, verdict=None, **fields):
    """A trial that failed `checks`."""
    verdict = verdict or ("warn" if checks and checks[0].verdict == "warn" else "fail")
    return builders.result(verdict, checks=checks, **{"culprit": "implementation", **fields})


def outcome(*content, **given):
    return {"outcome": {"status": "complete", "content": [*content], **given}}


def call(**given):
    return {"type": "tool_call", "name": "f", "arguments": {}, **given}


def thinking(text, **given):
    return {"type": "thinking", "text": text, **given}


def one(path, expected=None, got=None, message=None, **given):
    """A trial with one failed check."""
    return result(check(path, expected, got, message), **given)


RULES = {
    "grammar.required-field": "Breaks a rule of the API (`grammar.required-field`)",
    "answer.calls": "Breaks a rule of the API (`answer.calls`)",
    "http.content-type": "Answers with a wrong content type",
    "http.status": "Answers with a wrong status or an incomplete body (`http.status`)",
    "websocket.open": "Breaks a rule of WebSockets (`websocket.open`)",
    "refusal.error": "Answers with an error that is not in the client's format (`refusal.error`)",
    "upstream.prompt": "Changes the prompt on the way to the upstream server",
    "upstream.tools": "Changes the tools on the way to the upstream server",
    "upstream.body": "Sends the upstream server a request without model or messages",
}
"""The rules for proxies and servers, and their headlines."""

EXAMPLES: list[tuple[str, TrialResult]] = [
    (
        "Raises JSONDecodeError on a valid stream (lib/sse.py:12 in parse)",
        one("status", "complete", "error", observation={"raised": RAISED}),
    ),
    (
        "Raises JSONDecodeError before it sends a request (lib/sse.py:12 in parse)",
        one(
            "status",
            "complete",
            "error",
            observation={"raised": RAISED},
            reason="crashes before it sends: JSONDecodeError: line 1; no request arrived",
        ),
    ),
    (
        "Raises JSONDecodeError on a broken stream (lib/sse.py:12 in parse)",
        one("status", "incomplete", "error", observation={"raised": RAISED}),
    ),
    ("Does not answer before the timeout", result(verdict="hang", reason="no answer in 10 s")),
    (
        "Does not answer after an HTTP error, as if it waits to retry",
        result(verdict="hang", reason="no answer in 10 s", observation={"requests": [{"status": 429}]}),
    ),
    ("Does not answer after the stream breaks", result(verdict="hang", delivery="stall.3")),
    ("Reports a cut stream as complete", one("status", {"any_of": ["incomplete", "error"]}, "complete")),
    ("Reports an error as a complete answer", one("status", "error", "complete")),
    (
        "Reports a stream that lacks only its end marker as broken",
        one(
            "status",
            {"any_of": ["complete", "incomplete", "error"], "prefer": ["complete"]},
            "error",
            observation={"raised": RAISED},
        ),
    ),
    (
        "Does not notice that the end marker is missing",
        one("status", {"any_of": ["complete", "incomplete"], "prefer": ["incomplete"]}, "complete"),
    ),
    (
        "Reports a stream that lacks only its end marker as broken",
        one("status", {"any_of": ["complete", "incomplete", "error"], "prefer": ["complete"]}, "incomplete"),
    ),
    (
        "Does not notice that the end marker is missing",
        one(
            "status",
            {"any_of": ["complete", "incomplete", "error"], "prefer": ["incomplete", "error"]},
            "complete",
        ),
    ),
    (
        "Raises JSONDecodeError on an answer that it may refuse (lib/sse.py:12 in parse)",
        one("status", MAY_REFUSE, "error", observation={"raised": RAISED}),
    ),
    ("Reports an answer that it may refuse as an error", one("status", MAY_REFUSE, "error")),
    ("Reports a complete stream as cut", one("status", MAY_REFUSE, "incomplete")),
    (
        "Reports a failed answer as complete",
        one("status", {"any_of": ["error", "complete"], "prefer": ["error"]}, "complete"),
    ),
    (
        "Reports an error as a complete answer",
        one("status", {"any_of": ["error", "incomplete"], "prefer": ["error"]}, "complete"),
    ),
    (
        "Reports an error as a cut stream",
        one("status", {"any_of": ["error", "incomplete"], "prefer": ["error"]}, "incomplete"),
    ),
    ("Reports a valid stream as an error", one("status", "complete", "error")),
    ("Reports a complete stream as cut", one("status", "complete", "incomplete")),
    ("Reports a cut stream as an error", one("status", "incomplete", "error")),
    ("Reports an error as a cut stream", one("status", "error", "incomplete")),
    ("Reports a wrong status", one("status", "complete", None)),
    ("Reports an unfinished call as executable", one("content.complete_calls", 0, 1)),
    ("Reports an unfinished call as executable", one(f"{CALL}.complete", expected=False, got=True)),
    ("Reports an unfinished call as executable", one(f"{CALL}.complete", expected=False, got=None)),
    ("Does not say whether a call is complete", one(f"{CALL}.complete", True, None)),
    ("Does not mark a finished call as complete", one(f"{CALL}.complete", expected=True, got=False)),
    (
        "Raises JSONDecodeError when called (lib/sse.py:12 in parse)",
        one(
            "body",
            message="the library raised X",
            case="openai-chat/requests/one",
            observation={"raised": RAISED},
        ),
    ),
    (
        "Merges several tool calls into one",
        one(LENGTH, 2, 1, ONE_CALL, observation=outcome(call(arguments_text='{"a":1}{"b":2}'))),
    ),
    (
        "Splits a tool call into several",
        one(LENGTH, 1, 2, TWO_CALLS, observation=outcome(call(), call(name=None))),
    ),
    (
        "Reports a tool call that is not in the stream",
        one(LENGTH, 1, 2, TWO_CALLS, observation=outcome(call(), call())),
    ),
    ("Reports a tool call as text", one(LENGTH, 1, 1, "expected 1 block [tool_call], got 1 [text]")),
    ("Reports the blocks in a different order", one(f"{CALL}.name", "f", None, BLOCK_MISSING)),
    ("Loses tool calls", one(LENGTH, 1, 0, NO_CALL)),
    ("Loses the arguments of a call", one(f"{CALL}.arguments", {"a": 1}, None)),
    ("Returns a call with empty arguments", one(f"{CALL}.arguments", {"a": 1}, {})),
    ("Returns arguments as unparsed text", one(f"{CALL}.arguments", {"a": 1}, '{"a":1}')),
    ("Repairs arguments that do not parse", one(f"{CALL}.arguments", None, {"a": 1})),
    (
        "Confuses client calls with calls that the provider runs",
        one(LENGTH, 0, 1, f"expected 0 blocks [], got 1 [tool_call]{MISLABELED}web_search({{}})"),
    ),
    (
        "Reports an unfinished call as executable",
        one(f"{CALL}.arguments", None, {"a": 1}, f"{MAY_BE_CUT}; a call that had not ended …"),
    ),
    ("Loses parts of a call's arguments", one(f"{CALL}.arguments", {"a": 1, "b": 2}, {"a": 1})),
    (
        "Reports the blocks in a different order",
        one("content.length", 3, 2, f"{MOVED_BLOCKS}text", delivery="cut-after-frame.6"),
    ),
    ("Returns a call with wrong arguments", one(f"{CALL}.arguments", {"a": 1}, {"a": 2})),
    ("Does not expose the text of a call's arguments", one(f"{CALL}.arguments_text", "{}", None)),
    ("Changes the text of a call's arguments", one(f"{CALL}.arguments_text", "{}", "{ }")),
    ("Loses the name of a call", one(f"{CALL}.name", "f", "")),
    ("Returns a call with a wrong name", one(f"{CALL}.name", "f", "ff")),
    ("Loses the id of a call", one(f"{CALL}.id", "call_1", None)),
    ("Reports a different id for a call", one(f"{CALL}.id", "call_1", "x")),
    (
        "Confuses client calls with calls that the provider runs",
        one(f"{CALL}.executor", "provider", "client"),
    ),
    ("Reports a wrong number of content blocks", one(LENGTH, 1, 2)),
    (
        "Returns numbers that JSON cannot represent",
        one("usage.input", got="NaN", message="got NaN, which JSON cannot represent"),
    ),
    (
        "Drops content that arrived before the stream broke",
        one(
            "content.kept",
            message="9 characters of text had arrived before the break, but the content has only 0",
        ),
    ),
    ("Loses the signature of thinking", one("content.0.thinking.signature", "abc", None)),
    ("Changes the signature of thinking", one("content.0.thinking.signature", "abc", "ab")),
    (
        "Confuses redacted with unredacted thinking",
        one("content.0.thinking.redacted", expected=True, got=False),
    ),
    ("Loses thinking", one(LENGTH, 2, 1, "expected 2 blocks [thinking, text], got 1 [text]")),
    (
        "Merges several blocks of thinking into one",
        result(
            check(LENGTH, 2, 1, "expected 2 blocks [thinking, thinking], got 1 [thinking]"),
            check("content.0.thinking.text", "one", "onetwo"),
            check("content.1.thinking.text", "two", None, BLOCK_MISSING),
        ),
    ),
    ("Reports thinking as text", one(LENGTH, 1, 1, "expected 1 block [thinking], got 1 [text]")),
    ("Reports text that is not in the stream", one(LENGTH, 0, 1, "expected 0 blocks [], got 1 [text]")),
    (
        "Reports text that is not in the stream",
        one(LENGTH, 1, 2, "blocks that are not in the complete stream: text"),
    ),
    (
        "Splits thinking into several blocks",
        result(
            check(LENGTH, 2, 3, SPLIT_THINKING),
            check("content.0.thinking.text", "Two cities.", "Two "),
            check("content.0.thinking.signature", "c2ln", None),
            observation=outcome(
                thinking("Two "), thinking("cities.", signature="c2ln"), {"type": "text", "text": "Hi"}
            ),
        ),
    ),
    (
        "Splits thinking into several blocks",
        result(
            check(LENGTH, 2, 3, SPLIT_THINKING),
            check("content.0.thinking.signature", "c2ln", None),
            observation=outcome(thinking("Two cities."), thinking("", signature="c2ln")),
        ),
    ),
    ("Reports another block's signature as thinking", one(LENGTH, 1, 1, SIGNATURE_AS_THINKING)),
    (
        "Splits thinking into several blocks",
        one(LENGTH, 2, 3, "blocks that are only parts of one in the complete stream: thinking"),
    ),
    (
        "Reports thinking that is not in the stream",
        result(
            check(LENGTH, 2, 3, SPLIT_THINKING),
            check("content.0.thinking.text", "Two cities.", "Two "),
            observation=outcome(thinking("Two "), thinking("towns.")),
        ),
    ),
    ("Loses text", one("content.0.text", "abc", "")),
    ("Truncates text", one("content.0.text", "abc", "ab")),
    ("Loses the beginning of thinking", one("content.0.thinking.text", "abc", "bc")),
    ("Loses parts of a refusal", one("content.0.refusal", "abcd", "abd")),
    ("Repeats text", one("content.0.text", "abc", "abcabc")),
    (
        "Repeats thinking",
        one(LENGTH, 2, 3, SPLIT_THINKING, observation=outcome(thinking("Oslo."), thinking("Oslo.Oslo."))),
    ),
    ("Repeats text", one("content.0.text", {"prefix_of": "abc"}, "abab")),
    ("Adds extra content to text", one("content.0.text", "abc", "abcd")),
    ("Garbles characters in text", one("content.0.text", "aéc", "a\ufffdc")),
    ("Changes the order of text", one("content.0.text", "ab cd", "cd ab")),
    ("Changes text", one("content.0.text", "abc", "xyz")),
    ("Loses `content.*.text.phase`", one("content.0.text.phase", "commentary", None)),
    ("Reports a wrong `content.*.text.phase`", one("content.0.text.phase", "commentary", "final")),
    (
        "Reports only the uncached part of the prompt",
        one("usage.input", 11264, 256, f"expected 11264, got 256; {UNCACHED}"),
    ),
    (
        "Does not expose cache writes",
        one("usage.input", 48, 60, f"expected 48, got 60; {INCLUDES.format('cache writes')}"),
    ),
    (
        "Counts cached tokens again as input",
        one("usage.input", 10, 60, observation=outcome(usage={"cache_read": 50})),
    ),
    (
        "Counts reasoning tokens twice",
        one("usage.output", 10, 14, observation=outcome(usage={"reasoning": 4})),
    ),
    (
        "Leaves reasoning tokens out of the output",
        one("usage.output", 10, 6, observation=outcome(usage={"reasoning": 4})),
    ),
    ("Loses usage", one("usage.output", 10, None)),
    ("Does not expose the number of cache-read tokens", one("usage.cache_read", 10, None)),
    ("Reports 0 output tokens", one("usage.output", 10, 0)),
    ("Reports 0 tokens, although the stream has no count", one("usage.reasoning", None, 0)),
    ("Reports a token count that the stream does not have", one("usage.web_searches", None, 1)),
    ("Reports too many tokens", one("usage.input", 10, 30)),
    ("Reports too few tokens", one("usage.output", 10, 3)),
    (
        "Adds up usage reports instead of using the last one",
        one("usage.output", {"any_of": [None, 1, 9]}, 10),
    ),
    ("Reports too many reasoning tokens", one("usage.reasoning", 10, 11)),
    ("Reports too few cache-write tokens", one("usage.cache_write", 10, 9)),
    ("Reports usage, although the stream has none", one("usage", None, {"input": 1})),
    ("Reports wrong usage", one("usage.output", {"any_of": [1, 9]}, 5)),
    ("Does not compute the cost", one("cost.total", "0.5", None)),
    ("Computes too high a cost", one("cost.total", "0.5", "0.9")),
    ("Computes too low a cost", one("cost.input", {"any_of": ["0.5"]}, "0.1")),
    ("Computes a cost that cannot be known", one("cost", None, {"total": "0.5"})),
    ("Computes a wrong cost", one("cost.total", "0.5", "free")),
    ("Does not report why the answer ended", one("stop.reason", "stop", None)),
    ("Reports a stop reason that the stream does not have", one("stop.reason", None, "stop")),
    ("Reports a known stop reason as `other`", one("stop.reason", "length", "other")),
    (
        "Reports a wrong stop reason",
        one("stop.reason", {"any_of": ["tool_use", "other"]}, "stop"),
    ),
    ("Does not expose the provider's own stop reason", one("stop.raw", "end_turn", None)),
    ("Changes the provider's own stop reason", one("stop.raw", "end_turn", "stop")),
    ("Reports an error along with a complete answer", one("error", None, {"type": "x"})),
    ("Does not expose the provider's `error.type`", one("error.type", "overloaded_error", None)),
    ("Reports a wrong `error.message`", one("error.message", "busy", "failed")),
    ("Does not expose `model`", one("model", "gpt", None)),
    ("Returns a call without an id", one("invariant.unique-ids", message="tool call 0 has no id")),
    (
        "Gives two calls the same id",
        one("invariant.unique-ids", message="two tool calls have the id `call_0`"),
    ),
    (
        "Returns an outcome that is not in the normal form",
        one("invariant.outcome-schema", message="status: missing"),
    ),
    (
        "Sends no events, or events that are not in the normal form",
        one("invariant.event-schema", message="events are not a list"),
    ),
    ("Holds back the answer until the stream ends", one("invariant.streaming", message="late")),
    ("Streams different content from what it returns", one("invariant.deltas-sum", message="differs")),
    ("Streams different usage from what it returns", one("invariant.last-usage", message="differs")),
    (
        "Sends events that contradict each other (`invariant.one-terminal`)",
        one("invariant.one-terminal", message="two"),
    ),
    *((headline, one(rule, message="absent: `id`")) for rule, headline in RULES.items()),
    ("Does not send the requests that the conversation needs", one("requests.length", 2, 1)),
    (
        "Does not repeat the request before (`prefix.messages`)",
        one("requests.2.prefix.messages", message="differs"),
    ),
    ("Rewrites the request before (`bytes.tools`)", one("request.bytes.tools", message="differs")),
    (
        "Omits parts of `body.messages` from a request",
        one("body.messages.2.tool_call_id", "call_1", None, "not sent"),
    ),
    (
        "Sends forbidden parts of `body.messages`",
        one("body.messages.1.tool_calls", {"present": False}, []),
    ),
    ("Omits `body.max_tokens` from a request", one("body.max_tokens", 9, None, "not sent")),
    ("Sends `body.store`, which must be absent", one("body.store", {"present": False}, got=True)),
    ("Sends a wrong `headers.authorization`", one("headers.authorization", "a", "b")),
    ("Sends a wrong `body.messages`", one("request.body.messages.2.role", "tool", "user")),
    (
        "Does not close the connection of an answer that it leaves",
        one("connection.closed", message="the client did not close the connection"),
    ),
    (
        "Sends a request on the connection of an answer that has not ended",
        one("connection.not-reused", message="the client sent request 2 on the connection of answer 1"),
    ),
    ("Opens a connection for each request", one("connection.reused", message="3 requests used one each")),
    ("Sends another body when it retries", one("requests.same", message="another body")),
    (
        "Asks again for an answer that had begun",
        one("requests.count", 1, 2, "2 requests, though the first answer had begun"),
    ),
    ("Retries a request that was rejected", one("requests.count", 1, 3, "3 requests for 1 answer")),
    ("Sends more requests than it should", one("requests.count", 16, 17, "17 requests for 1 answer")),
    ("Reads ahead without a limit", one("buffer.bounded", message="the client took 9 bytes")),
    ("Neither ends nor fails", one("outcome", message="the client neither ended nor failed", verdict="hang")),
    ("Does not report an outcome for each request", one("outcomes.length", 2, 1)),
    ("Changes an answer when it reads several", one("outcomes.other.content.0.text", "a", "b")),
    ("Repairs arguments incorrectly", one("output", {"a": 1}, {}, case="common/heal/one")),
    ("Parses partial JSON incorrectly", one("output", {"a": 1}, {}, case="common/partial/one")),
    ("Assembles tool calls incorrectly", one("output", [{"id": "a"}], [], case="common/assemble/one")),
    ("Counts tokens incorrectly", one("output", 3, 4, case="common/tokens/one")),
    ("Does not expose `continuation`", one("continuation", "x", None)),
    ("Reports a wrong `response_id`", one("response_id", "a", "b")),
]
"""A failed trial for each row of the table, and the headline of its cause."""


@for_each(("headline", "trial"), EXAMPLES, ids=[headline for headline, _ in EXAMPLES])
def test_a_failed_trial_has_the_headline_of_its_kind_of_difference(headline, trial):
    (cause,) = group_by_cause([trial])
    assert cause.title == headline


def test_every_row_of_the_table_has_an_example_and_no_row_hides_a_later_one():
    headlines = {headline for headline, _ in EXAMPLES}

    def matches(row):
        pattern = re.sub(r"\\\{\w+\\\}", ".+", re.escape(row.headline)) + r"( \(.+\))?"
        return any(re.fullmatch(pattern, headline) for headline in headlines)

    assert [row.headline for row in ROWS if not matches(row)] == []
    reached = {id(find_row(classify_check(one, trial))) for _, trial in EXAMPLES for one in trial.checks}
    unreached = [row for row in ROWS if id(row) not in reached]
    # Exceptions and timeouts do not appear in checks.
    assert {row.kinds for row in unreached} == {
        *("raised", "raised-before-sending", "raised-on-broken", "raised-on-refusable"),
        *("timeout", "timeout-on-broken", "timeout-on-error"),
    }


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("request.body.messages.2.role", "requests.4.body.messages.9.role"),
        ("request.prefix.tools", "requests.1.prefix.tools"),
        ("first.content.0.text", "answers.3.content.0.text"),
        ("outcome.usage.input", "answers.0.usage.input"),
        ("usage.input", "outcomes.text.usage.input"),
    ],
)
def test_a_cause_is_the_same_in_every_request_and_answer_of_a_conversation(first, later):
    trials = [one(path, "a", "b") for path in (first, later)]
    (cause,) = group_by_cause(trials)
    assert cause.trials == 2


def test_an_id_has_one_headline():
    headlines: dict[str, set[str]] = {}
    for row in ROWS:
        headlines.setdefault(row.id, set()).add(row.headline)
    several = {id_: titles for id_, titles in headlines.items() if len(titles) > 1 and "{" not in id_}
    assert several == {}


@for_each("trial", [trial for _, trial in EXAMPLES], ids=[title for title, _ in EXAMPLES])
def test_an_id_is_one_short_word_for_known_failures_files(trial):
    (cause,) = group_by_cause([trial])
    assert re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*(:\S+)?", cause.id)
    assert (cause.api, cause.trials) == (trial.case.partition("/")[0], 1)


def test_every_harm_is_some_rows():
    assert {row.harm for row in ROWS} == set(HARMS)


def titles(*trials):
    return [cause.title for cause in group_by_cause(trials)]


def test_the_worst_harm_comes_first_and_then_the_most_cases():
    trials = [
        one("model", "gpt", None),
        one("stop.raw", "end_turn", None, case="openai-chat/text/one"),
        one("stop.raw", "end_turn", None, case="openai-chat/text/two"),
        one("content.0.text", "abc", "ab"),
        one("status", "incomplete", "complete", delivery="cut-after-frame.1"),
        one("content.complete_calls", 0, 1, delivery="cut-after-frame.2"),
    ]
    ordered = [
        "Reports an unfinished call as executable",
        "Reports a cut stream as complete",
        "Truncates text",
        "Does not expose the provider's own stop reason",
        "Does not expose `model`",
    ]
    assert titles(*trials) == ordered
    assert titles(*reversed(trials)) == ordered


def test_an_adapter_error_comes_before_everything_and_its_harm_is_unknown():
    broken = result(verdict="faulted", culprit="adapter", reason="KeyError: 'x' at 0x7f00")
    other = result(verdict="faulted", culprit="adapter", reason="KeyError: 'y' at 0x8000", delivery="crlf")
    first, _ = group_by_cause([one("content.complete_calls", 0, 1), broken, other])
    assert (first.title, first.harm, first.trials) == ("Adapter error: KeyError: … at …", None, 2)
    assert describe_harm(first) == "at fault: the adapter, not the library"


def test_adapter_errors_at_one_line_are_one_cause_whatever_their_messages():
    traceback = """Traceback (most recent call last):
  File "/srv/me/adapter.py", line 19, in read
    value = json.loads(text)
  File "/usr/lib/python3.12/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
json.decoder.JSONDecodeError: {}
"""
    broken = [
        result(
            verdict="faulted",
            culprit="adapter",
            reason=f"JSONDecodeError: {words}",
            observation={"traceback": traceback.format(words)},
            delivery=delivery,
        )
        for words, delivery in (("Expecting value", "whole"), ("Extra data", "crlf"))
    ]
    assert titles(*broken) == ["Adapter error: JSONDecodeError (adapter.py:19 in read)"]


def test_a_client_that_crashes_leads_the_warnings():
    warned = {"verdict": "warn", "level": "should"}
    crash = result(check("status", "complete", "error", **warned))
    worse = result(check("content.complete_calls", 0, 1, **warned), delivery="reset.1")
    assert titles(worse, crash)[0] == "Reports a valid stream as an error"
    crash, worse = (
        replace(each, verdict="fail", checks=(replace(each.checks[0], verdict="fail"),))
        for each in (crash, worse)
    )
    assert titles(worse, crash)[0] == "Reports an unfinished call as executable"


@pytest.mark.parametrize(
    ("headline", "paths", "checks"),
    [
        (
            "Loses tool calls",
            [],
            [
                check(LENGTH, 1, 0, NO_CALL),
                check(f"{CALL}.name", "f", None, BLOCK_MISSING),
                check(f"{CALL}.arguments", {"a": 1}, None, BLOCK_MISSING),
            ],
        ),
        (
            "Reports a valid stream as an error",
            ["content.*.tool_call.arguments", "error", "stop.reason"],
            [
                check("status", "complete", "error"),
                check("stop.reason", "stop", "error"),
                check("error", None, {"type": "x"}),
                check(f"{CALL}.arguments", {"a": 1}, {}),
            ],
        ),
        (
            "Loses usage",
            ["cost.total", "usage.output"],
            [
                check("usage.input", 1, None),
                check("usage.output", 1, None),
                check("cost.total", "0.1", None),
            ],
        ),
        (
            "Reports an unfinished call as executable",
            ["content.*.tool_call.arguments", "status", "stop.reason"],
            [
                check("status", "incomplete", "complete"),
                check("stop.reason", None, "stop"),
                check(f"{CALL}.arguments", {"a": 1}, {}),
                check("content.complete_calls", 0, 1),
            ],
        ),
        (
            "Truncates text",
            ["content.*.thinking.text"],
            [
                check(LENGTH, 2, 3, SPLIT_THINKING),
                check("content.0.thinking.text", "Two cities.", "Two "),
                check("content.1.text", "abc", "a"),
            ],
        ),
        (
            "Truncates text",
            ["usage.input"],
            [check("usage.input", 1, 2, verdict="warn"), check("content.0.text", "abc", "a")],
        ),
    ],
)
def test_what_follows_from_another_check_is_listed_below_it(headline, paths, checks):
    observation = outcome(thinking("Two "), thinking("cities."))
    (cause,) = group_by_cause([result(*checks, observation=observation)])
    assert cause.title == headline
    assert [path for path, _ in cause.also] == paths


def test_the_arguments_of_a_cut_call_do_not_divide_a_failure():
    trials = [
        one("content.complete_calls", 0, 1, f"the call had not ended; got f({n})", delivery=f"reset.{n}")
        for n in range(3)
    ]
    (cause,) = group_by_cause(trials)
    (failure,) = cause.failures
    assert failure.deliveries == ("reset.0", "reset.1", "reset.2")


def test_every_rule_of_a_proxy_has_a_headline_of_its_own():
    others = [
        rule
        for api in GRAMMARS
        for rule in list_rules(api)
        if find_row(Difference(rule, "null")).path == ".*"
    ]
    assert others == []


def test_every_check_of_a_probe_over_a_websocket_has_a_headline_of_its_own():
    api = "openai-responses"
    cases = list_cases(api, (), has_key=True, transport="websocket")
    paths = {path for case in cases for path in list_checked_paths(api, case).possible}
    assert [path for path in paths if find_row(Difference(path, "null")).path == ".*"] == []


def test_consequences_are_counted_in_trials():
    lost, costly = check("usage.input", 1, None), check("cost.total", "0.1", None)
    trials = [result(lost, costly, delivery=f"d{n}") for n in range(2)] + [result(lost, delivery="d2")]
    (cause,) = group_by_cause(trials)
    assert describe_also(cause) == "also failed: cost.total in 2 of 3 trials"
    (cause,) = group_by_cause(trials[:2])
    assert describe_also(cause) == "also failed: cost.total in all 2 trials"
    (cause,) = group_by_cause(trials[:1])
    assert describe_also(cause) == "also failed: cost.total"
    (cause,) = group_by_cause(trials[2:])
    assert describe_also(cause) == ""


def raising(case: str, **raised: Any) -> TrialResult:
    observation = {"raised": RAISED | raised}
    return one("status", "complete", "error", case=f"openai-chat/text/{case}", observation=observation)


def test_an_error_of_javascript_itself_in_a_bundle_is_distinguished_by_its_message():
    ids = []
    for type_, message in (("TypeError", "no 'x' at 12"), ("TypeError", "null"), ("ax.Refusal", "unsafe")):
        trial = raising("one", type=type_, where="at lib/index.mjs:47:40", message=message)
        (cause,) = group_by_cause([trial])
        ids.append(cause.id.removeprefix("raises-on-valid-stream:"))
    assert ids == [
        "TypeError:lib/index.mjs:no-at",
        "TypeError:lib/index.mjs:null",
        "ax.Refusal:lib/index.mjs",
    ]


def test_an_exception_without_a_place_may_be_the_adapters_own():
    (cause,) = group_by_cause([raising("one", where=None, type="TypeError", message="null")])
    assert cause.title == "Raises TypeError on a valid stream: null"
    assert "unless the adapter itself raised this" in describe_harm(cause)


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("lib/sse.py:12 in parse", "lib/sse.py:parse"),
        ("lib/sse.py:987 in parse", "lib/sse.py:parse"),
        ("at parse (lib/sse.mjs:47:40)", "lib/sse.mjs:parse"),
        ("at lib/sse.mjs:47:40", "lib/sse.mjs"),
        (None, "no-at"),
    ],
)
def test_the_id_of_an_exception_survives_a_release_that_moves_its_line(where, place):
    (cause,) = group_by_cause([raising("one", where=where, message="no 'x' at 12")])
    assert cause.id == f"raises-on-valid-stream:JSONDecodeError:{place}"


def test_causes_of_different_apis_are_different_causes():
    trials = [one("model", "gpt", None, case=f"{api}/text/one") for api in ("openai-chat", "ollama-chat")]
    assert [(cause.id, cause.api, cause.cases) for cause in group_by_cause(trials)] == [
        ("model-hidden", "ollama-chat", 1),
        ("model-hidden", "openai-chat", 1),
    ]


def test_a_cause_has_its_warnings_beside_its_failures():
    failing = one("content.0.text", "abc", "ab")
    warning = result(check("content.0.text", "abc", "ab", verdict="warn"), delivery="crlf")
    (cause,) = group_by_cause([warning, failing])
    assert describe_size(cause) == "1 case, 1 trial and 1 as a warning"
    assert (cause.failed, cause.warnings, cause.failures[0].first) == (1, 1, failing)
    (strict,) = group_by_cause([warning, failing], strict=True)
    assert describe_size(strict) == "1 case, 2 trials"
    (warned,) = group_by_cause([warning])
    assert (describe_size(warned), warned.failed) == ("1 case, 1 trial", 0)


def test_an_exception_does_not_hide_a_worse_harm():
    crash = one("status", "complete", "error", observation={"raised": RAISED})
    run = one("content.complete_calls", 0, 1, delivery="reset.1", observation={"raised": RAISED})
    assert titles(crash, run) == [
        "Reports an unfinished call as executable",
        "Raises JSONDecodeError on a valid stream (lib/sse.py:12 in parse)",
    ]


def test_exceptions_of_one_type_and_place_are_one_cause():
    trials = [
        raising("one"),
        raising("two", message="line 7 column 2"),
        raising("three", where="lib/sse.py:99 in flush"),
        raising("four", type="KeyError"),
    ]
    assert sorted((cause.title, cause.cases) for cause in group_by_cause(trials)) == [
        ("Raises JSONDecodeError on a valid stream (lib/sse.py:12 in parse)", 2),
        ("Raises JSONDecodeError on a valid stream (lib/sse.py:99 in flush)", 1),
        ("Raises KeyError on a valid stream (lib/sse.py:12 in parse)", 1),
    ]


def test_an_exception_that_crashes_a_valid_stream_is_the_cause_of_what_it_does_in_its_faults():
    crash = one("status", "complete", "error", observation={"raised": RAISED})
    message = one("error.message", "busy", "line 1", delivery="error-frame.1", observation={"raised": RAISED})
    other = {**RAISED, "type": "ProviderError"}
    unrelated = one("error.message", "busy", "oops", delivery="error-frame.2", observation={"raised": other})
    # A library that raises one exception for every fault has no bug in the streams that it reads.
    elsewhere = replace(message, case="openai-chat/text/two", id="openai-chat/text/two@error-frame.1")
    causes = group_by_cause([message, crash, unrelated, elsewhere])
    assert [(cause.title, cause.trials) for cause in causes] == [
        ("Raises JSONDecodeError on a valid stream (lib/sse.py:12 in parse)", 2),
        ("Reports a wrong `error.message`", 2),
    ]


def test_without_a_place_the_message_counts_without_digits_quotes_and_addresses():
    messages = ["got 'a' at 0x1f, 12", "got 'b' at 0x2e, 7", "something else"]
    trials = [raising(f"case-{n}", where=None, message=message) for n, message in enumerate(messages)]
    assert [cause.cases for cause in group_by_cause(trials)] == [2, 1]


def test_an_exception_is_one_bounded_line_whatever_it_holds():
    hostile = {"type": "T\u202e", "message": "a\nb\x1b[31m" + "x" * 10**6, "where": "w\r" * 10**4}
    (line,) = describe_error(raising("one", **hostile))
    assert line.isprintable()
    assert len(line) < 1200
    (cause,) = group_by_cause([raising("one", **hostile)])
    assert cause.title.isprintable()


@pytest.mark.parametrize("value", [None, "KeyError", [], {}, {"type": 3}, {"type": "E", "message": 1}])
def test_what_is_no_exception_is_not_shown_as_one(value):
    trial = one("status", "complete", "error", observation={"raised": value})
    lines = describe_error(trial)
    assert lines == (["raised E"] if value == {"type": "E", "message": 1} else [])
    assert group_by_cause([trial])


def test_results_with_any_values_have_causes():
    values = [None, 0, 1.5, "", "x", [], {}, [1], {"a": 1}, True]
    paths = ["status", LENGTH, f"{CALL}.arguments", "usage.input", "cost", "stop.reason", "error", "x"]
    trials = [
        result(check(path, expected, got), observation={"outcome": got, "raised": got})
        for path in paths
        for expected in values
        for got in values
    ]
    for cause in group_by_cause(trials):
        assert cause.title.isprintable()
        assert cause.failures[0].first.checks
        assert describe_failure(cause.failures[0].first, cause.failures[0].check)
        assert CULPRITS[cause.culprit] in describe_harm(cause)


# One path for each row of the table, and the paths that only `FOLDS` names.
PATHS = (
    *RULES,
    *(
        "status",
        "body",
        "output",
        "content.complete_calls",
        "content.kept",
        "content.length",
        "content.*.x.y",
    ),
    *(f"content.*.{type_}" for type_ in ("text", "thinking", "refusal", "other", "tool_call")),
    *("content.*.thinking.text", "content.*.thinking.signature", "content.*.thinking.redacted"),
    *(f"content.*.tool_call.{name}" for name in ("complete", "arguments", "arguments_text", "name", "id")),
    *("content.*.tool_call.executor", "usage", "usage.input", "usage.output", "usage.cache_read", "cost"),
    *("stop.reason", "stop.raw", "error", "error.message", "model", "invariant.unique-ids"),
    *("invariant.outcome-schema", "invariant.event-schema", "invariant.streaming", "invariant.deltas-sum"),
    *("invariant.last-usage", "invariant.terminal", "requests.length", "body.messages", "request.body.x"),
    *("output.heal", "output.partial", "output.assemble", "output.tokens", "anything.else"),
)
KINDS = sorted({kind for row in ROWS for kind in row.kinds.split()} | {"different", "complete-for-cut", "\n"})
DIFFERENCES = [Difference(path, kind) for path in PATHS for kind in KINDS]


@pytest.mark.nightly
def test_every_set_of_three_differences_has_a_root():
    # These kinds are enough to tell the rows of consequences apart.
    some = [Difference(path, kind) for path in PATHS for kind in ("different", "missing", "complete-for-cut")]
    assert [trio for trio in combinations(some, 3) if not any(find_roots(trio))] == []


@given(st.lists(st.sampled_from(DIFFERENCES), min_size=1, max_size=12))
def test_every_set_of_differences_has_a_root(differences):
    assert any(find_roots(differences))


@pytest.mark.parametrize("rank", range(len(FOLDS)))
def test_every_row_of_consequences_applies(rank):
    path, kind, _ = FOLDS[rank]
    causes = [one for one in DIFFERENCES if re.fullmatch(path, one.path) and re.fullmatch(kind, one.kind)]
    assert any(not find_roots([causes[0], one])[1] for one in DIFFERENCES)


def test_thinking_and_text_joined_into_one_text_are_grouped():
    lists = "expected 2 blocks [thinking, text], got 1 [text]"
    trial = result(
        check(LENGTH, 2, 1, lists),
        check("content.0.thinking", "A kilo is a kilo.", None, BLOCK_MISSING),
        check("content.1.text", "They weigh the same.", "[object Object]"),
    )
    (cause,) = group_by_cause([trial])
    assert cause.title == "Loses thinking"


def test_a_trial_that_cannot_be_grouped_is_one_line_of_the_report(monkeypatch):
    find = roots.classify_check

    def fail_on_usage(one, trial):
        if one.path == "usage.input":
            raise ValueError("min() arg is an empty sequence")
        return find(one, trial)

    monkeypatch.setattr(roots, "classify_check", fail_on_usage)
    found = group_by_cause(
        [one("usage.input", 1, 2, case="openai-chat/usage/a"), one("content.0.text", "ab", "a")]
    )
    assert [(cause.title, cause.culprit) for cause in found] == [
        (
            "Could not be grouped, a bug in streamconform (ValueError: min() arg is an empty sequence)",
            "harness",
        ),
        ("Truncates text", "implementation"),
    ]
