"""OpenAI Responses: the outcome of each form of stream."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from streamconform_dev.fuzz.exchange import (
    Answer,
    Case,
    assert_outcome,
    cited_block,
    text_block,
    usage_counts,
)
from streamconform_dev.fuzz.exchange import decode as decode_any
from streamconform_reference.document import decode_document

from ..for_each import for_each
from .openai_responses_streams import (
    CITATION,
    CREATED,
    SEARCHED,
    STREAMS,
    USAGE,
    WEB_SEARCH,
    Payload,
    added,
    answer,
    args,
    args_done,
    call,
    completed,
    custom,
    done,
    event,
    failed,
    incomplete,
    message,
    output_text,
    part_added,
    reasoning,
    response,
    says,
    sse,
    thinks,
    whole_call,
    whole_text,
)


def decode(body: Any, **fields: Any) -> Answer:
    return decode_any(body, api="openai-responses", **fields)


def call_block(arguments: Any, **fields: Any) -> Payload:
    whole = {"type": "tool_call", "id": "call_1", "name": "f", "arguments": arguments}
    return {**whole, "arguments_text": None, "complete": True, "executor": "client", **fields}


FULL_USAGE = usage_counts(input=30, cache_read=60, cache_write=10, output=20, reasoning=8)

CASES = [
    Case(
        id="text",
        body=STREAMS["text"],
        expect={
            "status": "complete",
            "content": [text_block("Hello")],
            "stop": {"reason": "stop", "raw": "completed"},
            "usage": FULL_USAGE,
            "error": None,
            "model": "gpt-x",
            "response_id": "resp_1",
        },
    ),
    Case(
        id="item-ids-that-rotate-change-nothing",
        body=STREAMS["rotating-ids"],
        expect={"content.0": text_block("Hello"), "content.1.arguments": {"a": 1}, "content.length": 2},
    ),
    Case(
        id="parallel-calls-are-told-apart-by-output-index",
        body=STREAMS["parallel-interleaved"],
        expect={"content.0.arguments": {"x": 1}, "content.1.arguments": {"y": 2}, "stop.reason": "tool_use"},
    ),
    Case(
        id="llama-cpp-sends-no-index-at-all",
        body=STREAMS["llama-cpp"],
        expect={
            "status": "complete",
            "content.0": {"type": "thinking", "text": "hmm", "signature": None, "redacted": False},
            "content.1": text_block("Hello"),
            "content.2.arguments": {"x": 1},
            "content.3.arguments": {"y": 2},
            "content.length": 4,
        },
    ),
    Case(
        id="text-without-index-item-or-part",
        body=sse(event("output_text.delta", None, delta="a"), event("output_text.delta", None, delta="b")),
        expect={"content": [text_block("ab")], "status": "incomplete"},
    ),
    Case(
        id="deltas-before-the-part-and-the-item",
        body=answer(says("a"), part_added(), says("b"), added(message()), says("c"), done(message())),
        expect={"content": [text_block("abc")]},
    ),
    Case(
        id="text-in-the-start-of-a-part-is-kept",
        body=answer(added(message()), part_added(text="pre"), says("fix")),
        expect={"content": [text_block("prefix")]},
    ),
    Case(
        id="two-parts-are-two-blocks",
        body=answer(says("a"), says("b", part=1), done(message(output_text("a"), output_text("b")))),
        expect={"content": [text_block("a"), text_block("b")]},
    ),
    Case(
        id="text-only-in-its-done-event",
        body=answer(added(message()), event("output_text.done", content_index=0, text="all")),
        expect={"content": [text_block("all")]},
    ),
    Case(
        id="text-only-in-the-finished-part",
        body=answer(event("content_part.done", content_index=0, part=output_text("all"))),
        expect={"content": [text_block("all")]},
    ),
    Case(
        id="text-only-in-the-finished-item",
        body=answer(done(message(output_text("all")))),
        expect={"content": [text_block("all")]},
    ),
    Case(
        id="an-empty-done-event-does-not-end-the-text",
        body=answer(
            event("output_text.done", content_index=0, text=""),
            event("content_part.done", content_index=0, part=output_text("")),
            done(message(output_text("all"))),
        ),
        expect={"content": [text_block("all")]},
    ),
    Case(
        id="the-missing-rest-of-the-text-is-appended",
        body=answer(says("Hel"), event("output_text.done", content_index=0, text="Hello")),
        expect={"content": [text_block("Hello")]},
    ),
    Case(
        id="text-that-contradicts-its-deltas-stays-as-streamed",
        body=answer(says("streamed"), done(message(output_text("other")))),
        expect={"content": [text_block("streamed")]},
    ),
    Case(
        id="half-an-emoji-before-the-whole-text",
        body=sse(CREATED, says("a\ud83d"), escaped=True)
        + sse(event("output_text.done", content_index=0, text="a😀!"), completed()),
        expect={"content": [text_block("a😀!")]},
    ),
    Case(
        id="two-items-at-one-index-one-after-the-other",
        body=answer(*whole_text("a"), *whole_call('{"a":1}'), *whole_call('{"b":2}', 0, 2)),
        expect={
            "content.0": text_block("a"),
            "content.1.arguments": {"a": 1},
            "content.2.arguments": {"b": 2},
            "content.length": 3,
        },
    ),
    Case(
        id="two-calls-at-one-index-at-once",
        body=answer(
            added(call(1)),
            added(call(2)),
            args('{"a":', number=1),
            args('{"b":', number=2),
            args("1}", number=1),
            args("2}", number=2),
        ),
        expect={"content.0.arguments": {"a": 1}, "content.1.arguments": {"b": 2}},
    ),
    Case(
        id="repeated-start-of-an-item",
        body=answer(added(call()), added(call()), args("{}"), args_done("{}"), done(call(1, "{}"))),
        expect={"content.length": 1, "content.0.arguments": {}},
    ),
    Case(
        id="repeated-end-of-an-item",
        body=answer(*whole_text("a"), done(message(output_text("a")))),
        expect={"content": [text_block("a")]},
    ),
    # Calls.
    Case(
        id="a-call",
        body=STREAMS["call"],
        expect={"content": [call_block({"city": "Paris"}, arguments_text='{"city": "Paris"}')]},
    ),
    Case(
        id="arguments-only-in-their-done-event",
        body=STREAMS["arguments-only-in-done"],
        expect={"content": [call_block({"a": 1}, arguments_text='{"a":1}')]},
    ),
    Case(
        id="arguments-only-in-the-finished-item",
        body=STREAMS["arguments-only-in-the-item"],
        expect={"content.0.arguments": {"a": 1}},
    ),
    Case(
        id="empty-done-event-before-arguments-in-the-finished-item",
        body=answer(added(call()), args_done(""), done(call(1, '{"a":1}'))),
        expect={"content.0.arguments": {"a": 1}},
    ),
    Case(
        id="partial-deltas-then-done",
        body=answer(added(call()), args('{"a":'), args_done('{"a":1}'), done(call(1, '{"a":1}'))),
        expect={"content": [call_block({"a": 1}, arguments_text='{"a":1}')]},
    ),
    Case(
        id="arguments-that-contradict-their-deltas-are-those-of-done",
        body=STREAMS["ciphertext-deltas"],
        expect={"content": [call_block({"a": 1}, arguments_text="x9f")]},
    ),
    Case(
        id="whole-arguments-in-the-start",
        body=answer(added(call(1, '{"a":1}'))),
        expect={"content.0.arguments": {"a": 1}, "content.0.complete": True},
    ),
    Case(
        id="whole-arguments-in-the-start-are-not-doubled-by-deltas",
        body=answer(added(call(1, '{"a":1}')), args('{"a":1}'), done(call(1, '{"a":1}'))),
        expect={"content.0.arguments": {"a": 1}, "content.0.arguments_text": '{"a":1}'},
    ),
    Case(
        id="the-beginning-of-the-arguments-in-the-start",
        body=answer(added(call(1, '{"a":')), args("1}")),
        expect={"content.0.arguments": {"a": 1}, "content.0.arguments_text": '{"a":1}'},
    ),
    Case(
        id="arguments-that-are-an-object",
        body=answer(added(call(1, {})), done(call(1, {"a": 1}))),
        expect={"content": [call_block({"a": 1})]},
    ),
    Case(
        id="no-arguments-at-all",
        body=answer(added(call(1, None)), done(call(1, ""))),
        expect={"content": [call_block({})]},
    ),
    Case(
        id="a-call-without-its-start",
        body=answer(args('{"a":'), args("1}"), args_done('{"a":1}'), done(call(1, '{"a":1}'))),
        expect={"content.0.arguments": {"a": 1}, "content.0.arguments_text": '{"a":1}', "content.length": 1},
    ),
    Case(
        id="a-call-without-an-end-of-its-own-ends-with-the-response",
        body=answer(added(call()), args('{"a":1}')),
        expect={"content.0.complete": True, "stop.reason": "tool_use"},
    ),
    Case(
        id="but-not-with-an-incomplete-response",
        body=answer(added(call()), args('{"a":1}'), end=incomplete()),
        expect={"content.0.complete": False, "stop.reason": "length"},
    ),
    Case(
        id="the-id-is-the-call-id",
        body=answer(done(call(1, "{}")), done({**call(2, "{}"), "call_id": ""}, 1)),
        expect={"content.0.id": "call_1", "content.1.id": "fc_2"},
    ),
    Case(
        id="malformed-arguments-are-null-not-repaired",
        body=answer(*whole_call('{"a": INVALID}')),
        expect={"content.0.arguments": None, "content.0.complete": True, "stop.reason": "tool_use"},
    ),
    Case(
        id="a-truncated-call-is-not-complete",
        body=STREAMS["truncated-call"],
        expect={"content.0.complete": False, "stop": {"reason": "length", "raw": "max_output_tokens"}},
    ),
    Case(
        id="a-call-that-the-api-calls-incomplete-has-not-ended-though-it-parses",
        body=answer(added(call()), args("{}"), done(call(1, "{}", status="incomplete")), end=incomplete()),
        expect={"content.0.complete": False},
    ),
    Case(
        id="length-beats-a-complete-call",
        body=answer(*whole_call("{}"), end=incomplete()),
        expect={"stop.reason": "length", "content.0.complete": True},
    ),
    Case(
        id="free-text-of-a-custom-tool-is-its-arguments",
        body=STREAMS["custom-tool"],
        expect={"content": [call_block("SELECT 1", name="sql", arguments_text="SELECT 1")]},
    ),
    Case(
        id="free-text-is-text-even-where-it-is-json-or-empty",
        body=answer(done(custom('{"a":1}')), done({**custom(""), "call_id": "call_2"}, 1)),
        expect={"content.0.arguments": '{"a":1}', "content.1.arguments": ""},
    ),
    # Tools that OpenAI or the client runs.
    Case(
        id="hosted-tools-do-not-make-it-tool-use",
        body=STREAMS["hosted-tool"],
        expect={
            "stop.reason": "stop",
            "content.0": call_block(
                {"type": "search", "query": "x"}, id="ws_1", name="web_search", executor="provider"
            ),
            "content.1": {"type": "other", "kind": "web_search_call", "data": SEARCHED},
            "content.2": cited_block("cited", source="https://example.com", data=CITATION),
            "content.length": 3,
            "usage.web_searches": 1,
        },
    ),
    Case(
        id="sources-that-a-search-found-are-no-arguments",
        body=answer(done({**WEB_SEARCH, "action": {"type": "search", "query": "x", "sources": [1]}})),
        expect={"content.0.arguments": {"type": "search", "query": "x"}},
    ),
    Case(
        id="xai-writes-a-search-like-a-function",
        body=answer(done({**WEB_SEARCH, "call_id": "", "name": "web_search", "arguments": '{"query":"x"}'})),
        expect={"content.0.arguments": {"query": "x"}, "content.0.id": "ws_1", "stop.reason": "stop"},
    ),
    Case(
        id="mcp-call-arguments-are-streamed",
        body=answer(
            added({"id": "mcp_1", "type": "mcp_call", "name": "g", "arguments": ""}),
            event("mcp_call_arguments.delta", delta='{"a":'),
            event("mcp_call_arguments.done", arguments='{"a":1}'),
        ),
        expect={
            "content.0": call_block({"a": 1}, id="mcp_1", name="g", executor="provider")
            | {"arguments_text": '{"a":1}'},
            "stop.reason": "stop",
        },
    ),
    Case(
        id="code-of-the-interpreter-is-free-text",
        body=answer(
            added({"id": "ci_1", "type": "code_interpreter_call", "code": ""}),
            event("code_interpreter_call_code.delta", delta="1 +"),
            event("code_interpreter_call_code.done", code="1 + 1"),
        ),
        expect={"content.0.arguments": "1 + 1", "content.0.executor": "provider"},
    ),
    Case(
        id="tools-that-the-client-runs-make-it-tool-use",
        body=answer(
            done({"id": "a", "call_id": "c1", "type": "local_shell_call", "action": {"command": ["ls"]}}, 0),
            done({"id": "b", "call_id": "c2", "type": "apply_patch_call", "operation": {"path": "x"}}, 1),
            done({"id": "c", "call_id": "c3", "type": "computer_call", "action": {"type": "wait"}}, 2),
        ),
        expect={
            "stop.reason": "tool_use",
            "content.0": call_block({"command": ["ls"]}, id="c1", name="local_shell"),
            "content.1.arguments": {"path": "x"},
            "content.2.arguments": {"action": {"type": "wait"}},
        },
    ),
    Case(
        id="a-shell-in-a-container-is-the-providers",
        body=answer(
            done(
                {
                    "call_id": "c",
                    "type": "shell_call",
                    "action": {},
                    "environment": {"type": "container_auto"},
                }
            )
        ),
        expect={"stop.reason": "stop", "content.0.executor": "provider"},
    ),
    Case(
        id="the-id-of-a-tool-search-is-that-of-its-end",
        body=answer(
            added({"call_id": "early", "type": "tool_search_call", "arguments": {}, "execution": "client"}),
            done(
                {"call_id": "late", "type": "tool_search_call", "arguments": {"goal": "x"}}
                | {"execution": "client"}
            ),
        ),
        expect={"content": [call_block({"goal": "x"}, id="late", name="tool_search")]},
    ),
    Case(
        id="xai-shows-its-own-steps-as-custom-calls",
        body=sse(
            {"type": "response.created", "response": response(tools=[{"type": "x_search"}])},
            done(custom("{}", name="x_keyword_search")),
            completed(),
        ),
        expect={"content.0.executor": "provider", "stop.reason": "stop"},
    ),
    Case(
        id="a-custom-tool-beside-x-search-is-the-clients",
        body=sse(
            {
                "type": "response.created",
                "response": response(tools=[{"type": "x_search"}, {"type": "custom", "name": "sql"}]),
            },
            done(custom("{}")),
            completed(),
        ),
        expect={"content.0.executor": "client", "stop.reason": "tool_use"},
    ),
    # Reasoning.
    Case(
        id="summary-parts-are-set-off-and-the-signature-is-that-of-the-end",
        body=STREAMS["reasoning"],
        expect={
            "content.0": {
                "type": "thinking",
                "text": "**a**\n\n**b**!",
                "signature": "ZG9uZQ",
                "redacted": False,
            }
        },
    ),
    Case(
        id="summary-only-in-the-finished-item",
        body=answer(added(reasoning()), done(reasoning("a", "b"))),
        expect={"content.0.text": "a\n\nb", "content.length": 1},
    ),
    Case(
        id="summary-only-in-its-done-events",
        body=answer(
            event("reasoning_summary_text.done", summary_index=0, text="a"),
            event("reasoning_summary_part.done", summary_index=0, part={"type": "summary_text", "text": "a"}),
            event("reasoning_summary_part.done", summary_index=1, part={"type": "summary_text", "text": "b"}),
        ),
        expect={"content.0.text": "a\n\nb", "content.length": 1},
    ),
    Case(
        id="the-missing-rest-of-a-summary-part-is-appended",
        body=answer(
            thinks("a"),
            thinks("b", 1),
            event("reasoning_summary_text.done", summary_index=1, text="bcd"),
            done(reasoning("a", "bcd", "e")),
        ),
        expect={"content.0.text": "a\n\nbcd\n\ne"},
    ),
    Case(
        id="reasoning-text",
        body=answer(
            event("reasoning_text.delta", content_index=0, delta="a"),
            event("reasoning_text.done", content_index=0, text="ab"),
            done(reasoning(content=[{"type": "reasoning_text", "text": "ab"}])),
        ),
        expect={"content.0.text": "ab", "content.length": 1},
    ),
    Case(
        id="reasoning-text-as-a-part-of-the-content",
        body=answer(
            added(reasoning()),
            part_added("reasoning_text"),
            event("reasoning_text.delta", content_index=0, delta="a"),
            event("content_part.done", content_index=0, part={"type": "reasoning_text", "text": "ab"}),
        ),
        expect={"content.0.text": "ab", "content.length": 1},
    ),
    Case(
        id="the-old-names-of-reasoning-text",
        body=answer(
            event("reasoning.delta", content_index=0, delta="a"),
            event("reasoning.delta", content_index=0, delta={"text": "b"}),
            event("reasoning.done", content_index=0, text="abc"),
        ),
        expect={"content.0.text": "abc"},
    ),
    Case(
        id="content-and-summary-are-both-kept-and-the-same-text-once",
        body=answer(
            done(reasoning("short", content=[{"type": "reasoning_text", "text": "long"}])),
            done(reasoning("same", content=[{"type": "reasoning_text", "text": "same"}]) | {"id": "r"}, 1),
        ),
        expect={"content.0.text": "short\n\nlong", "content.1.text": "same"},
    ),
    Case(
        id="reasoning-without-text-is-a-block-for-its-signature",
        body=answer(added(reasoning()), done(reasoning(encrypted_content="b3BhcXVl"))),
        expect={"content.0.text": "", "content.0.signature": "b3BhcXVl", "content.0.redacted": False},
    ),
    Case(
        id="empty-encrypted-content-is-none",
        body=answer(added(reasoning(encrypted_content="x")), done(reasoning("a", encrypted_content=""))),
        expect={"content.0.signature": None, "content.length": 1},
    ),
    # Other blocks.
    Case(
        id="citations-count-once",
        body=answer(
            says("a"),
            event("output_text.annotation.added", content_index=0, annotation=CITATION),
            done(message(output_text("a", CITATION, {"type": "file_citation"}))),
        ),
        expect={
            "content.length": 1,
            "content.0.citations.length": 2,
            "content.0.citations.0.data": CITATION,
            "content.0.citations.1.data": {"type": "file_citation"},
        },
    ),
    Case(
        id="compaction-and-unknown-items-are-other-with-their-last-data",
        body=answer(
            added({"type": "compaction", "id": "c", "encrypted_content": "a"}),
            done({"type": "compaction", "id": "c", "encrypted_content": "b"}),
            added({"type": "future_item", "x": 1}, 1),
        ),
        expect={
            "content": [
                {"type": "other", "kind": kind, "data": {"type": kind, **data}}
                for kind, data in (
                    ("compaction", {"id": "c", "encrypted_content": "b"}),
                    ("future_item", {"x": 1}),
                )
            ]
        },
    ),
    Case(
        id="unknown-events-parts-and-fields-change-nothing",
        body=answer(
            {"type": "response.future_event", "output_index": 0},
            event("apply_patch_call_operation_diff.delta", 3, delta="+"),
            added(message()),
            event("content_part.added", content_index=0, part={"type": "future_part", "y": 1}),
            says("not text"),
            says("yes", part=1, obfuscation="xx", new=1),
        ),
        expect={
            "content.0": {"type": "other", "kind": "future_part", "data": {"type": "future_part", "y": 1}},
            "content.1": text_block("yes"),
            "content.length": 2,
        },
    ),
    Case(
        id="refusal",
        body=STREAMS["refusal"],
        expect={
            "content": [{"type": "refusal", "text": "I cannot"}],
            "stop": {"reason": "refusal", "raw": "completed"},
        },
    ),
    # The end.
    Case(
        id="all-from-the-end",
        body=STREAMS["only-the-end"],
        expect={
            "content.0.text": "t",
            "content.1": text_block("hi"),
            "content.2.arguments": {"a": 1},
            "content.3.executor": "provider",
            "content.length": 5,
            "stop.reason": "tool_use",
        },
    ),
    Case(
        id="the-end-repeats-items-in-another-order-and-with-other-ids",
        body=answer(
            *whole_text("a"),
            *whole_call('{"a":1}', 1),
            *whole_call('{"b":2}', 2, 2),
            end=completed(
                call(2, '{"b":2}'), call(1, '{"a":1}'), message(output_text("a"), id_="rotated"), WEB_SEARCH
            ),
        ),
        expect={"content.length": 5, "content.0": text_block("a"), "content.3.name": "web_search"},
    ),
    Case(
        id="the-end-completes-what-had-not-ended",
        body=answer(
            says("a"),
            added(call(), 1),
            args('{"a"', 1),
            end=completed(message(output_text("ab")), call(1, '{"a":1}')),
        ),
        expect={"content.0": text_block("ab"), "content.1.arguments": {"a": 1}, "content.length": 2},
    ),
    Case(
        id="the-end-without-a-list-of-items",
        body=answer(*whole_text("a"), end={"type": "response.completed", "response": {"usage": USAGE}}),
        expect={"status": "complete", "content": [text_block("a")], "usage": FULL_USAGE},
    ),
    Case(
        id="incomplete-is-complete-with-its-reason-and-usage",
        body=STREAMS["length"],
        expect={
            "status": "complete",
            "stop": {"reason": "length", "raw": "max_output_tokens"},
            "usage": FULL_USAGE,
            "content": [text_block("par")],
        },
    ),
    Case(
        id="incomplete-by-the-content-filter",
        body=answer(end=incomplete("content_filter")),
        expect={"stop.reason": "content_filter", "content": []},
    ),
    Case(
        id="incomplete-for-a-reason-that-nobody-knows",
        body=answer(*whole_call("{}"), end=incomplete("steered")),
        expect={"stop": {"reason": "other", "raw": "steered"}},
    ),
    Case(
        id="incomplete-without-a-reason",
        body=answer(end=incomplete(None)),
        expect={"stop": {"reason": "other", "raw": "incomplete"}},
    ),
    Case(
        id="completed-with-the-status-incomplete",
        body=answer(
            says("a"), end=completed(status="incomplete", incomplete_details={"reason": "max_output_tokens"})
        ),
        expect={"stop.reason": "length"},
    ),
    Case(
        id="completed-with-the-status-cancelled",
        body=answer(end=completed(status="cancelled")),
        expect={
            "status": "error",
            "error.type": "cancelled",
            "stop": {"reason": "error", "raw": "cancelled"},
        },
    ),
    Case(
        id="done-mark-and-anything-after-the-end-are-ignored",
        body=STREAMS["text"] + b"data: [DONE]\n\n" + sse(failed()),
        expect={"status": "complete", "content": [text_block("Hello")]},
    ),
    Case(
        id="a-done-mark-is-no-end",
        body=sse(CREATED, *whole_text("a")) + b"data: [DONE]\n\n",
        expect={"status": "incomplete", "stop": {"reason": None, "raw": None}, "usage": None},
    ),
    Case(
        id="usage-without-details",
        body=answer(end=completed(usage={"input_tokens": 5, "output_tokens": 2})),
        expect={"usage": usage_counts(input=5, output=2)},
    ),
    Case(
        id="the-tier-of-the-end-prices-it",
        body=answer(end=completed(service_tier="flex")),
        fields={
            "pricing": {"input": "1", "output": "2", "cache_read": "0.1", "service_tier": {"flex": "0.5"}}
        },
        expect={"cost.total": "0.000043"},
    ),
    # Errors.
    *(
        Case(
            id=name,
            body=STREAMS[name],
            expect={
                "status": "error",
                "error": {"type": "rate_limit_exceeded", "message": "slow down", "status": None},
                "stop.reason": "error",
                "content": [text_block("par")],
                "usage": None,
            },
        )
        for name in ("error-nested", "error-flat", "failed")
    ),
    Case(
        id="error-without-a-type",
        body=b'data: {"error":{"message":"m","type":"server_error"}}\n\n',
        expect={"error": {"type": "server_error", "message": "m", "status": None}},
    ),
    Case(
        id="error-that-is-nested-and-flat",
        body=sse({"type": "error", "code": "c", "message": "m", "error": {"type": None}}),
        expect={"error": {"type": "c", "message": "m", "status": None}},
    ),
    Case(
        id="failed-without-a-word",
        body=sse({"type": "response.failed", "response": response("failed", error=None)}),
        expect={"error": {"type": "failed", "message": None, "status": None}, "stop.raw": "failed"},
    ),
    Case(
        id="http-error",
        body=b'{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}',
        fields={"status": 401},
        expect={"error": {"type": "invalid_request_error", "message": "m", "status": 401}},
    ),
    Case(
        id="a-page-instead-of-a-stream",
        body=b"<html>oops</html>",
        expect={"status": "error", "error.type": "protocol"},
    ),
    *(
        Case(
            id=f"broken-{number}",
            body=sse(CREATED, says("a"), broken),
            expect={"status": "error", "error.type": "protocol", "content": [text_block("a")]},
        )
        for number, broken in enumerate(
            (
                {"type": "response.completed"},
                {"type": "response.output_item.added", "output_index": 1},
                {"type": "response.output_item.done", "output_index": 1, "item": {"id": "x"}},
                {"type": "response.content_part.added", "output_index": 1},
                {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": 5},
            )
        )
    ),
]


@for_each("case", CASES, ids=lambda case: case.id)
def test_a_stream_has_the_expected_outcome(case: Case) -> None:
    assert_outcome(case, "openai-responses")


def test_no_two_cases_have_one_name() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


def test_the_cost_of_a_recorded_answer() -> None:
    """7,112 tokens of which 3,072 were cached, 463 out, at the prices of gpt-5.3-codex."""
    counts = {
        "input_tokens": 7112,
        "input_tokens_details": {"cached_tokens": 3072},
        "output_tokens": 463,
        "output_tokens_details": {"reasoning_tokens": 64},
    }
    prices = {"input": "1.75", "cache_read": "0.175", "output": "14"}
    got = decode(answer(end=completed(usage=counts)), pricing=prices)
    assert got.outcome["cost"]["total"] == "0.0140896"


def test_the_events_of_a_text_and_a_call() -> None:
    got = decode(answer(*whole_text("Hi"), *whole_call("{}", 1)))
    assert got.types() == [
        *("text_start", "text_delta", "text_delta", "text_end"),
        *("toolcall_start", "toolcall_delta", "toolcall_delta", "toolcall_end", "usage", "done"),
    ]


def test_a_call_ends_with_its_arguments_before_its_item_does() -> None:
    got = decode(sse(CREATED, added(call()), args("{}"), args_done("{}")))
    assert got.content[0]["complete"]
    assert got.outcome["status"] == "incomplete"


def test_arguments_that_were_streamed_are_not_ended_by_a_cut() -> None:
    got = decode(sse(CREATED, added(call()), args("{}")))
    assert not got.content[0]["complete"]
    assert got.content[0]["arguments"] is None


def test_a_repeated_error_gives_one_event() -> None:
    assert decode(STREAMS["error-nested"]).types().count("error") == 1


# Documents.


@pytest.mark.parametrize("name", ["text", "only-the-end", "llama-cpp"])
def test_a_document_is_the_stream(name: str) -> None:
    last = json.loads(STREAMS[name].rstrip().rsplit(b"data: ", 1)[1])
    assert decode_document(json.dumps(last["response"]).encode(), "openai-responses").to_json() == {
        **decode(STREAMS[name]).outcome,
        "cost": None,
    }


@pytest.mark.parametrize(
    ("document", "status", "kind"),
    [
        (response("completed"), "complete", None),
        (response("incomplete"), "complete", None),
        (response("in_progress"), "incomplete", None),
        (response("failed", error={"code": "c", "message": "m"}), "error", "c"),
        (response("cancelled"), "error", "cancelled"),
        ({"error": {"type": "t", "message": "m"}}, "error", "t"),
        ({"x": 1}, "error", "protocol"),
        ([], "error", "protocol"),
        (response("completed", output=[message(output_text("a"))], usage=3, model=3), "error", "protocol"),
    ],
)
def test_documents_of_every_status(document: Any, status: str, kind: str | None) -> None:
    outcome = decode_document(json.dumps(document).encode(), "openai-responses")
    assert outcome.status == status
    assert (outcome.error and outcome.error.type) == kind


# Size.


def seconds(*payloads: Payload) -> float:
    body = sse(*payloads)
    begin = time.process_time()
    decode([body])
    return time.process_time() - begin


@pytest.mark.slow
@pytest.mark.parametrize(
    "grow",
    [
        lambda n: [added(call()), *(args("0123456789", 0, 1) for _ in range(n))],
        lambda n: [says("word ") for _ in range(n)],
        lambda n: [thinks("a step", part) for part in range(n // 5)],
        lambda n: [frame for i in range(n // 10) for frame in whole_call("{}", i, i)],
    ],
    ids=["arguments", "text", "summary-parts", "calls"],
)
def test_time_grows_with_the_size(grow: Any) -> None:
    small, large = (min(seconds(*grow(n), completed()) for _ in range(3)) for n in (2_000, 8_000))
    assert large < small * 10
