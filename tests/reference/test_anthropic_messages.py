"""Anthropic Messages: the outcome of each form of stream."""

from __future__ import annotations

from typing import Any

import pytest

from streamconform_dev.fuzz.exchange import Case, assert_event_rules, assert_outcome, cited_block, decode

from ..for_each import for_each
from .streams import (
    ERROR,
    PING,
    STOP,
    STREAMS,
    args,
    block,
    delta,
    ends,
    message,
    says,
    sse,
    start,
    stop,
    text,
    tool,
    whole_text,
)

BROKEN: tuple[dict[str, Any], ...] = (
    {"type": "message_start"},
    {"type": "content_block_start", "index": 1},
    {"type": "content_block_start", "content_block": {"type": "text"}},
    {"type": "content_block_start", "index": 1, "content_block": {}},
    {"type": "content_block_start", "index": True, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}},
    {"type": "content_block_stop", "index": "0"},
    {"type": "message_delta", "delta": "end_turn"},
    {"type": "message_delta", "delta": {"stop_reason": 3}},
    delta(0, "text_delta", text=5),
)

# The types `EncryptedCodeExecutionResultBlock` and `WebSearchToolResultBlock` of the `anthropic` package
SERVER_RESULTS: dict[str, dict[str, Any]] = {
    "code_execution_tool_result": {
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "encrypted_code_execution_result",
            "encrypted_stdout": "gAAA",
            "return_code": 0,
            "stderr": "",
            "content": [],
        },
    },
    "web_search_tool_result": {
        "tool_use_id": "srvtoolu_2",
        "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"},
        "content": [],
    },
}
REFUSAL = {"type": "refusal", "category": "cyber", "explanation": None}


def refuses(reason: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_details": REFUSAL}}


CASES = [
    Case(
        id="deltas-of-a-block-are-one-block",
        body=STREAMS["text"],
        expect={
            "status": "complete",
            "content": [{"type": "text", "text": "Hello"}],
            "stop": {"reason": "stop", "raw": "end_turn"},
            "model": "claude-x",
            "response_id": "msg_1",
            "error": None,
        },
    ),
    Case(
        id="text-in-the-start-is-kept",
        body=message(text(0, "pre"), says("fix"), stop()),
        expect={"content": [{"type": "text", "text": "prefix"}]},
    ),
    Case(
        id="a-stream-without-event-names-is-read",
        body=STREAMS["no-event-names"],
        expect={"status": "complete", "content.0.text": "bare"},
    ),
    Case(
        id="thinking-signature-redacted-and-omitted",
        body=STREAMS["thinking-then-call"],
        expect={
            "content.0": {
                "type": "thinking",
                "text": "hmm",
                "signature": "c2ln",
                "redacted": False,
            },
            "content.1": {
                "type": "thinking",
                "text": "",
                "signature": "b3BhcXVl",
                "redacted": True,
            },
            "content.2": {
                "type": "thinking",
                "text": "",
                "signature": "b21pdHRlZA",
                "redacted": False,
            },
            "content.3": {
                "type": "tool_call",
                "id": "toolu_3",
                "name": "f",
                "arguments": {"city": "Paris"},
                "arguments_text": '{"city": "Paris"}',
                "complete": True,
                "executor": "client",
            },
            "stop.reason": "tool_use",
        },
    ),
    Case(
        id="signature-deltas-are-appended",
        body=message(
            block(0, "thinking", thinking=""),
            delta(0, "signature_delta", signature="ab"),
            delta(0, "signature_delta", signature="cd"),
            stop(),
        ),
        expect={"content.0.signature": "abcd"},
    ),
    Case(
        id="empty-signature-is-none",
        body=message(block(0, "thinking", thinking="x"), delta(0, "signature_delta", signature=""), stop()),
        expect={"content.0.signature": None, "content.0.text": "x"},
    ),
    Case(
        id="interleaved-calls-are-keyed-by-index",
        body=STREAMS["parallel-interleaved"],
        expect={"content.0.arguments": {"x": 1}, "content.1.arguments": {"y": 2}},
    ),
    Case(
        id="empty-arguments-are-an-empty-object",
        body=STREAMS["no-arguments"],
        expect={"content.0.arguments": {}, "content.0.arguments_text": ""},
    ),
    Case(
        id="blank-arguments-are-those-of-the-start",
        body=message(tool(0, input={"a": 1}), args(0, " \n"), stop(), reason="tool_use"),
        expect={"content.0.arguments": {"a": 1}},
    ),
    Case(
        id="prefilled-input-without-deltas",
        body=STREAMS["prefilled-input"],
        expect={"content.0.arguments": {"player": 1}, "content.0.arguments_text": None},
    ),
    Case(
        id="fragments-replace-the-prefilled-input",
        body=message(tool(0, input={"a": 1}), args(0, '{"b":2}'), stop(), reason="tool_use"),
        expect={"content.0.arguments": {"b": 2}},
    ),
    Case(
        id="no-input-key-in-the-start",
        body=message(block(0, "tool_use", id="t", name="f"), stop(), reason="tool_use"),
        expect={"content.0.arguments": {}, "content.0.complete": True},
    ),
    Case(
        id="big-integers-are-exact",
        body=message(tool(0), args(0, '{"n":12345678901234567890123}'), stop(), reason="tool_use"),
        expect={"content.0.arguments": {"n": 12345678901234567890123}},
    ),
    Case(
        id="malformed-arguments-are-null-not-repaired",
        body=STREAMS["malformed-call"],
        expect={
            "status": "complete",
            "content.0.arguments": None,
            "content.0.arguments_text": '{"a": INVALID}',
            "content.0.complete": True,
        },
    ),
    Case(
        id="length-leaves-the-last-malformed-call-incomplete",
        body=STREAMS["truncated-call"],
        expect={
            "stop": {"reason": "length", "raw": "max_tokens"},
            "content.0.complete": False,
            "content.0.arguments": None,
        },
    ),
    Case(
        id="length-beats-a-complete-call",
        body=message(tool(0), args(0, "{}"), stop(), reason="max_tokens"),
        expect={"stop.reason": "length", "content.0.complete": True},
    ),
    Case(
        id="end-turn-after-a-call-is-tool-use",
        body=message(tool(0), stop(), reason="end_turn"),
        expect={"stop": {"reason": "tool_use", "raw": "end_turn"}},
    ),
    Case(
        id="provider-tools-do-not-make-it-tool-use",
        body=STREAMS["provider-tool"],
        expect={
            "stop.reason": "stop",
            "content.0.executor": "provider",
            "content.0.arguments": {"query": "x"},
            "content.1": {
                "type": "other",
                "kind": "web_search_tool_result",
                "data": {
                    "type": "web_search_tool_result",
                    "tool_use_id": "toolu_0",
                    "content": [],
                },
            },
            "content.2": cited_block(
                "cited", source="https://example.com", data={"url": "https://example.com"}
            ),
            "content.length": 3,
        },
    ),
    Case(
        id="raw-tool-use-with-provider-calls-only-is-stop",
        body=message(tool(0, kind="mcp_tool_use"), stop(), reason="tool_use"),
        expect={"stop": {"reason": "stop", "raw": "tool_use"}, "content.0.executor": "provider"},
    ),
    Case(
        id="call-without-an-id-gets-one",
        body=message(tool(0, id=""), stop(), tool(1, id=None), stop(1), reason="tool_use"),
        expect={"content.0.id": "call_0", "content.1.id": "call_1"},
    ),
    Case(
        id="ids-are-made-unique",
        body=message(tool(0, id="a"), tool(1, id="a"), tool(2, id="a_2"), tool(3, id="a"), reason="tool_use"),
        expect={
            "content.0.id": "a",
            "content.1.id": "a_2",
            "content.2.id": "a_2_2",
            "content.3.id": "a_3",
        },
    ),
    Case(
        id="compaction-is-other-with-its-last-summary",
        body=message(
            block(0, "compaction", content=None),
            delta(0, "compaction_delta", content="short"),
            stop(),
        ),
        expect={
            "content.0": {
                "type": "other",
                "kind": "compaction",
                "data": {"type": "compaction", "content": "short"},
            }
        },
    ),
    Case(
        id="unknown-blocks-events-deltas-and-fields-change-nothing",
        body=message(
            {"type": "vertex_event", "index": 0},
            block(0, "future_block", x=1),
            says("not text"),
            stop(),
            text(1),
            delta(1, "future_delta", text="no"),
            says("yes", 1) | {"new": 1},
            stop(1),
        ),
        expect={"content.0.kind": "future_block", "content.1.text": "yes", "content.length": 2},
    ),
    Case(
        id="index-gaps",
        body=message(*whole_text("a", 2), *whole_text("b", 7)),
        expect={"content.0.text": "a", "content.1.text": "b", "content.length": 2},
    ),
    Case(
        id="an-index-used-twice-is-two-blocks",
        body=message(*whole_text("a", 0), tool(0), args(0, "{}"), stop(0)),
        expect={"content.0.text": "a", "content.1.arguments": {}, "content.length": 2},
    ),
    Case(
        id="text-of-an-index-that-never-began",
        body=message(says("a", 3), says("b", 3), stop(3)),
        expect={"content": [{"type": "text", "text": "ab"}]},
    ),
    Case(
        id="arguments-of-an-index-that-never-began-are-ignored",
        body=message(args(3, "{}"), stop(3), stop(9)),
        expect={"content": [], "status": "complete"},
    ),
    Case(
        id="a-delta-that-does-not-fit-its-block-is-ignored",
        body=message(text(), delta(0, "thinking_delta", thinking="no"), says("yes"), stop()),
        expect={"content": [{"type": "text", "text": "yes"}]},
    ),
    Case(
        id="a-delta-after-its-block-is-ignored",
        body=message(*whole_text("a"), says("late")),
        expect={"content": [{"type": "text", "text": "a"}]},
    ),
    Case(
        id="null-text-is-no-text",
        body=message(text(0), delta(0, "text_delta", text=None), says("a"), stop()),
        expect={"content.0.text": "a"},
    ),
    Case(
        id="no-message-start-and-overlapping-blocks",
        body=sse(
            block(0, "thinking", thinking=""),
            delta(0, "thinking_delta", thinking="t"),
            block(1, "tool_use", id="x", name="f"),
            args(1, '{"a":1}'),
            stop(0),
            stop(1),
            ends("tool_use"),
            STOP,
        ),
        expect={
            "status": "complete",
            "content.0.text": "t",
            "content.1.arguments": {"a": 1},
            "usage.output": 5,
            "usage.input": None,
        },
    ),
    Case(
        id="message-start-after-the-first-block-is-not-a-second-one",
        body=sse(text(), start(), says("a"), stop(), ends(), STOP),
        expect={"content.0.text": "a"},
    ),
    Case(
        id="zero-blocks",
        body=message(reason="refusal"),
        expect={"content": [], "stop": {"reason": "refusal", "raw": "refusal"}},
    ),
    *(
        Case(
            id=f"the-result-of-code-{kind}",
            body=message(block(0, kind, **result), stop(0), *whole_text("Hi", 1)),
            expect={
                "content.0": {"type": "other", "kind": kind, "data": {"type": kind, **result}},
                "content.1.text": "Hi",
            },
        )
        for kind, result in SERVER_RESULTS.items()
    ),
    *(
        Case(
            id=f"a-refusal-after-a-whole-call-with-the-reason-{reason}",
            body=sse(start(), tool(0), args(0, '{"x":1}'), stop(0), refuses(reason), STOP),
            expect={
                "status": "complete",
                "stop": {"reason": "refusal", "raw": reason, "details": REFUSAL},
                "content.0.name": "f",
                "content.length": 1,
            },
        )
        for reason in ("refusal", "tool_use")
    ),
    Case(
        id="a-later-null-does-not-erase-the-stop-reason",
        body=sse(start(), ends("max_tokens"), ends(None, output_tokens=6), STOP),
        expect={"stop.reason": "length", "usage.output": 6},
    ),
    Case(
        id="message-stop-without-a-stop-reason",
        body=sse(start(), *whole_text("a"), STOP),
        expect={"status": "complete", "stop": {"reason": "other", "raw": None}},
    ),
    Case(
        id="usage-keeps-what-the-delta-leaves-out",
        body=sse(
            start(input_tokens=10, cache_read_input_tokens=7, output_tokens=1),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": None},
            ends(input_tokens=None, cache_read_input_tokens=None, output_tokens=5),
            {"type": "message_delta", "delta": None},
            STOP,
        ),
        expect={
            "usage": {
                "input": 10,
                "cache_read": 7,
                "cache_write": None,
                "cache_write_1h": None,
                "output": 5,
                "reasoning": None,
                "web_searches": None,
            }
        },
    ),
    Case(
        id="usage-is-replaced-never-added-and-never-the-maximum",
        body=sse(
            start(input_tokens=60385, output_tokens=1),
            ends(input_tokens=612, output_tokens=9),
            STOP,
        ),
        expect={"usage.input": 612, "usage.output": 9},
    ),
    Case(
        id="usage-of-every-kind",
        body=sse(
            start(
                input_tokens=1200,
                cache_read_input_tokens=40000,
                cache_creation_input_tokens=9000,
                cache_creation={
                    "ephemeral_5m_input_tokens": 6000,
                    "ephemeral_1h_input_tokens": 3000,
                },
                output_tokens=1,
            ),
            ends(
                output_tokens=2500,
                output_tokens_details={"thinking_tokens": 900},
                server_tool_use={"web_search_requests": 2},
            ),
            STOP,
        ),
        fields={
            "pricing": {
                "input": "4",
                "cache_write_5m": "5",
                "cache_write_1h": "8",
                "cache_read": "0.20",
                "output": "20",
                "web_search_per_1000": "10",
            }
        },
        expect={
            "usage": {
                "input": 1200,
                "cache_read": 40000,
                "cache_write": 9000,
                "cache_write_1h": 3000,
                "output": 2500,
                "reasoning": 900,
                "web_searches": 2,
            },
            "cost.total": "0.1368",
        },
    ),
    Case(
        id="compaction-is-billed-but-not-in-the-buckets",
        body=sse(
            start(input_tokens=60385, output_tokens=5),
            ends(
                input_tokens=612,
                output_tokens=2819,
                iterations=[
                    {"type": "compaction", "input_tokens": 60385, "output_tokens": 522},
                    {"type": "message", "input_tokens": 612, "output_tokens": 2819},
                    {"type": "advisor_message", "input_tokens": 9, "output_tokens": 9},
                ],
            ),
            STOP,
        ),
        # 60385 x 3 + 522 x 15; additionally, 612 x 3 + 2819 x 15
        expect={"usage.input": 612, "cost.other": "0.188985", "cost.total": "0.233106"},
    ),
    Case(
        id="the-service-tier-of-the-response-decides",
        body=sse(start(input_tokens=1000, output_tokens=0, service_tier="batch"), ends(), STOP),
        fields={"pricing": {"input": "3", "output": "0", "service_tier": {"batch": "0.5"}}},
        expect={"cost.total": "0.0015"},
    ),
    Case(
        id="usage-that-is-no-count-is-not-reported",
        body=sse(
            start(input_tokens=-1, output_tokens="many", cache_read_input_tokens=True),
            ends(output_tokens=1.5),
            STOP,
        ),
        expect={"status": "complete", "usage": None, "cost": None},
    ),
    Case(
        id="no-prices-no-cost",
        body=STREAMS["text"],
        fields={"pricing": None},
        expect={"cost": None, "usage.output": 5},
    ),
    Case(
        id="usage-beside-the-message",
        body=sse({"type": "message_start", "message": {"id": "m"}, "usage": {"input_tokens": 4}}, STOP),
        expect={"usage.input": 4},
    ),
    Case(
        id="content-in-message-start",
        body=sse(
            {
                "type": "message_start",
                "message": {
                    "id": "m",
                    "content": [
                        {"type": "text", "text": "pre"},
                        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
                    ],
                    "stop_reason": "tool_use",
                },
            },
            *whole_text("more"),
            STOP,
        ),
        expect={
            "content.0.text": "pre",
            "content.1.arguments": {"a": 1},
            "content.2.text": "more",
            "stop.reason": "tool_use",
        },
    ),
    Case(
        id="a-spliced-answer-is-never-mixed-with-the-first",
        body=sse(
            start(input_tokens=17, output_tokens=1),
            *whole_text("A"),
            tool(1, id="a"),
            args(1, '{"v":"Spark'),
            {
                "type": "message_start",
                "message": {"id": "msg_2", "model": "claude-y", "usage": {"output_tokens": 2}},
            },
            tool(1, id="b"),
            args(1, '{"v":"Day"}'),
            stop(1),
            ends("tool_use", output_tokens=65),
            STOP,
        ),
        expect={
            "response_id": "msg_2",
            "model": "claude-y",
            "usage.input": None,
            "usage.output": 65,
            "content.0.text": "A",
            "content.1.complete": False,
            "content.1.arguments_text": '{"v":"Spark',
            "content.2.complete": True,
            "content.2.arguments": {"v": "Day"},
        },
    ),
    Case(
        id="nothing-counts-after-message-stop",
        body=message(*whole_text("first")) + message(*whole_text("second")) + b"data: {broken\n\n",
        expect={"status": "complete", "content": [{"type": "text", "text": "first"}]},
    ),
    Case(
        id="done-and-blank-data-are-ignored",
        body=b"data: [DONE]\n\ndata:  \n\n" + message(*whole_text("a")) + b"data: [DONE]\n\n",
        expect={"status": "complete", "content.0.text": "a"},
    ),
    Case(
        id="a-payload-that-is-no-object-is-ignored",
        body=b'data: 1\n\ndata: ["x"]\n\ndata: {"type": ["list"]}\n\n' + message(),
        expect={"status": "complete"},
    ),
    Case(
        id="the-last-event-needs-no-blank-line",
        body=STREAMS["last-frame-without-blank-line"],
        expect={"status": "complete"},
    ),
    Case(
        id="a-cut-before-message-stop-is-incomplete",
        body=sse(start(), tool(0), args(0, '{"a":1}'), ends("tool_use")),
        expect={
            "status": "incomplete",
            "stop": {"reason": None, "raw": None},
            "error": None,
            "content.0.complete": False,
            "content.0.arguments": None,
        },
    ),
    Case(
        id="a-malformed-call-is-not-complete-before-the-stop-reason-counts",
        body=sse(start(), tool(0), args(0, "{"), stop(), ends("tool_use")),
        expect={"status": "incomplete", "content.0.complete": False},
    ),
    Case(
        id="a-cut-within-the-first-frame-is-incomplete",
        body=STREAMS["text"][:20],
        expect={"status": "incomplete", "content": []},
    ),
    Case(
        id="pings-alone-are-an-incomplete-stream",
        body=b": ping\n\n: ping\n\n",
        expect={"status": "incomplete", "error": None},
    ),
    Case(
        id="error-in-mid-stream",
        body=STREAMS["error-in-mid-stream"] + sse(STOP),
        expect={
            "status": "error",
            "stop": {"reason": "error", "raw": None},
            "error": {"type": "overloaded_error", "message": "Overloaded", "status": None},
            "content": [{"type": "text", "text": "par"}],
        },
    ),
    Case(
        id="error-with-details-and-request-id",
        body=sse(
            {
                "type": "error",
                "error": {"type": "api_error", "message": "Internal", "details": None},
                "request_id": "req_1",
            }
        ),
        expect={"error.type": "api_error", "error.message": "Internal"},
    ),
    Case(
        id="error-in-the-other-vendors-envelope",
        body=sse(start()) + b'data: {"error":{"code":503,"message":"busy","type":"unavailable_error"}}\n\n',
        expect={"error": {"type": "unavailable_error", "message": "busy", "status": 503}},
    ),
    Case(
        id="a-payload-that-is-no-json",
        body=sse(start(), text(), says("kept")) + b"data: {oops\n\n" + sse(STOP),
        expect={"status": "error", "error.type": "protocol", "content.0.text": "kept"},
    ),
    Case(
        id="half-a-frame-in-mid-stream",
        body=sse(start()) + b"data: {\n\n",
        expect={"status": "error", "error.type": "protocol"},
    ),
    *(
        Case(
            id=f"broken-known-frame-{number}",
            body=sse(start(), text(), says("kept"), broken, STOP),
            expect={"status": "error", "error.type": "protocol", "content.0.text": "kept"},
        )
        for number, broken in enumerate(BROKEN)
    ),
    *(
        Case(
            id=f"stop-reason-{raw}",
            body=message(*whole_text("a"), reason=raw),
            expect={"stop": {"reason": reason, "raw": raw}},
        )
        for raw, reason in {
            "end_turn": "stop",
            "stop_sequence": "stop",
            "max_tokens": "length",
            "model_context_window_exceeded": "length",
            "tool_use": "tool_use",
            "pause_turn": "pause",
            "refusal": "refusal",
            "something_new": "other",
        }.items()
    ),
    Case(
        id="http-error-document",
        fields={"status": 529},
        body=b'{"type":"error","error":{"type":"overloaded_error","message":"M"}}',
        expect={
            "status": "error",
            "error": {"type": "overloaded_error", "message": "M", "status": 529},
        },
    ),
    Case(
        id="http-error-in-the-other-vendors-envelope",
        fields={"status": 400},
        body=b'{"error":{"code":400,"message":"M","type":"exceed_context_size_error"}}',
        expect={"error": {"type": "exceed_context_size_error", "message": "M", "status": 400}},
    ),
    Case(
        id="http-error-as-an-event",
        fields={"status": 429},
        body=sse(ERROR),
        expect={"error": {"type": "overloaded_error", "message": "Overloaded", "status": 429}},
    ),
    Case(
        id="http-error-without-a-body",
        fields={"status": 500},
        body=b"",
        expect={"error": {"type": None, "message": None, "status": 500}},
    ),
    Case(
        id="http-error-as-text",
        fields={"status": 502},
        body=b"upstream connect\nerror",
        expect={"error": {"type": None, "message": "upstream connect error", "status": 502}},
    ),
    Case(
        id="success-with-an-error-document",
        body=b'{"type":"error","error":{"type":"api_error","message":"M"}}',
        expect={"error": {"type": "api_error", "message": "M", "status": None}},
    ),
    Case(
        id="success-with-a-whole-message",
        body=b'{"type":"message","content":[]}',
        expect={"status": "error", "error.type": "protocol"},
    ),
    Case(
        id="success-with-a-page",
        body=b"<html><body>Sign in</body></html>",
        expect={"status": "error", "error.type": "protocol"},
    ),
    Case(
        id="success-with-nothing",
        body=b"",
        expect={
            "status": "error",
            "error": {"type": "protocol", "message": "the body is empty", "status": None},
        },
    ),
]


@for_each("case", CASES, ids=lambda case: case.id)
def test_a_stream_has_the_expected_outcome(case: Case) -> None:
    assert_outcome(case, "anthropic-messages")


def test_the_events_come_in_order() -> None:
    answer = decode(STREAMS["thinking-then-call"])
    assert answer.types() == [
        *("usage", "thinking_start", "thinking_delta", "thinking_end"),
        *("thinking_start", "thinking_end", "thinking_start", "thinking_end"),
        *("toolcall_start", "toolcall_delta", "toolcall_delta", "toolcall_end"),
        *("usage", "done"),
    ]


def test_a_malformed_call_ends_directly_before_done() -> None:
    assert decode(STREAMS["malformed-call"]).types()[-3:] == ["usage", "toolcall_end", "done"]


def test_a_truncated_call_has_no_end() -> None:
    assert "toolcall_end" not in decode(STREAMS["truncated-call"]).types()


def test_a_ping_brings_no_event() -> None:
    assert decode(sse(start(), PING, STOP)).types() == ["usage", "done"]


def test_a_pair_of_surrogates_cut_between_two_deltas_is_one_character() -> None:
    halves = [
        b'data: {"type":"content_block_delta","index":0,"delta":'
        b'{"type":"text_delta","text":"' + half + b'"}}\n\n'
        for half in (b"a\\ud83c", b"\\udf24b")
    ]
    answer = decode(sse(start(), text()) + b"".join(halves) + sse(stop(), ends(), STOP))
    assert answer.content[0]["text"] == "a🌤b"
    assert [e["delta"] for e in answer.events if "delta" in e] == ["a", "🌤b"]
    assert_event_rules(answer)


@pytest.mark.parametrize(
    ("rest", "words"),
    [((stop(), STOP), "a\ud83c"), ((STOP,), "a\ud83c"), ((), "a"), ((ERROR,), "a")],
    ids=["ended", "open", "cut", "failed"],
)
def test_a_lone_surrogate_is_kept_unless_the_answer_ended_before_its_other_half(
    rest: tuple[dict[str, Any], ...], words: str
) -> None:
    half = (
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83c"}}\n\n'
    )
    answer = decode(sse(start(), text()) + half + sse(*rest))
    assert answer.content[0]["text"] == words
    assert_event_rules(answer)
