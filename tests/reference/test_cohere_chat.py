"""Cohere Chat, both versions: the outcome of each form of stream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamconform_dev.fuzz.exchange import (
    PRICES,
    Answer,
    Case,
    assert_outcome,
    at,
    cited_block,
    text_block,
    thinking_block,
    usage_counts,
)
from streamconform_dev.fuzz.exchange import decode as decode_any
from streamconform_reference.apis.cohere_chat.terminal import STOP_REASONS
from streamconform_reference.document import decode_document

from ..for_each import for_each
from .cohere_chat_streams import (
    CITATION,
    DONE,
    START,
    STREAMS,
    USAGE,
    V1_CITATION,
    V1_START,
    Payload,
    answer,
    args,
    begins,
    called,
    calls,
    delta,
    ends,
    event,
    ndjson,
    over,
    piece,
    plans,
    response,
    says,
    sse,
    v1_call,
    v1_calls,
    v1_over,
    v1_plans,
    v1_says,
    whole_call,
    whole_text,
)


def decode(body: Any, **fields: Any) -> Answer:
    return decode_any(body, api="cohere-chat", **fields)


def other(kind: str, data: Payload) -> Payload:
    return {"type": "other", "kind": kind, "data": data}


CASES = [
    Case(
        id="text",
        body=STREAMS["text"],
        fields={"pricing": {"input": "2.50", "output": "10.00"}},
        expect={
            "status": "complete",
            "content": [text_block("Hello")],
            "stop": {"reason": "stop", "raw": "COMPLETE"},
            "usage": usage_counts(input=119, output=44),
            "cost.total": "0.0007375",
            "error": None,
            "model": None,
            "response_id": "reply-1",
        },
    ),
    Case(
        id="thinking-then-text",
        body=STREAMS["thinking-then-text"],
        expect={"content": [thinking_block("hmm"), text_block("Yes")]},
    ),
    Case(
        id="a-plan-is-thinking-before-its-calls",
        body=STREAMS["plan-then-parallel-calls"],
        expect={
            "content.0": thinking_block("I will look."),
            "content.1": {
                "type": "tool_call",
                "id": "f_0",
                "name": "f",
                "arguments": {"a": 1},
                "arguments_text": '{"a":1}',
                "complete": True,
                "executor": "client",
            },
            "content.2.name": "g",
            "content.2.arguments": {"b": 2},
            "content.length": 3,
            "stop": {"reason": "tool_use", "raw": "TOOL_CALL"},
        },
    ),
    Case(
        id="a-plan-behind-a-call-is-another-one",
        body=answer(plans("a"), *whole_call("{}"), plans("b"), *whole_call("{}", 1)),
        expect={"content.0.text": "a", "content.2": thinking_block("b"), "content.length": 4},
    ),
    Case(
        id="indexes-of-calls-and-of-content-are-apart",
        body=STREAMS["thinking-then-call-of-the-same-index"],
        expect={"content.0": thinking_block("hmm"), "content.1.arguments": {"a": 1}, "content.length": 2},
    ),
    Case(
        id="without-an-index-an-event-is-about-what-began-last",
        body=STREAMS["no-index"],
        expect={
            "content.0.arguments": {"a": 1},
            "content.1.arguments": {"b": 2},
            "content.length": 2,
            "stop.reason": "tool_use",
        },
    ),
    Case(
        id="content-without-an-index",
        body=answer(
            begins(None, "thinking"), says("a", None, "thinking"), ends(None), begins(None), says("b", None)
        ),
        expect={"content": [thinking_block("a"), text_block("b")]},
    ),
    Case(
        id="content-that-never-began",
        body=answer(says("a"), says("b", None)),
        expect={"content": [text_block("a"), text_block("b")]},
    ),
    Case(
        id="the-text-of-a-start-counts",
        body=answer(begins(0, "text", "Hel"), says("lo"), ends()),
        expect={"content": [text_block("Hello")]},
    ),
    Case(
        id="a-call-without-parameters-has-no-fragment",
        body=STREAMS["no-parameters"],
        expect={
            "content.1.arguments": {},
            "content.1.arguments_text": None,
            "content.1.complete": True,
        },
    ),
    Case(
        id="null-stands-for-no-parameters",
        body=STREAMS["null-parameters"],
        expect={"content.0.arguments": {}, "content.0.arguments_text": "null"},
    ),
    Case(
        id="arguments-as-an-object-and-as-null",
        body=answer(
            calls(0, args=None), args({"a": 1}), called(), calls(1, "g", {"b": 2}), args(None, 1), called(1)
        ),
        expect={
            "content.0.arguments": {"a": 1},
            "content.0.arguments_text": None,
            "content.1.arguments": {"b": 2},
        },
    ),
    Case(
        id="an-index-that-is-used-again-is-another-call",
        body=answer(*whole_call('{"a":1}'), *whole_call('{"a":2}')),
        expect={"content.0.arguments": {"a": 1}, "content.1.arguments": {"a": 2}, "content.1.id": "f_0_2"},
    ),
    Case(
        id="complete-behind-a-call-is-tool-use",
        body=STREAMS["complete-behind-a-call"],
        expect={"stop": {"reason": "tool_use", "raw": "COMPLETE"}},
    ),
    Case(
        id="a-truncated-call-is-not-complete",
        body=STREAMS["truncated-call"],
        expect={"status": "complete", "content.0.complete": False, "stop.reason": "length"},
    ),
    Case(
        id="a-call-without-its-end-is-not-complete",
        body=answer(calls(), args('{"a":1}'), reason="TOOL_CALL"),
        expect={"content.0.complete": False, "content.0.arguments": None, "stop.reason": "tool_use"},
    ),
    Case(
        id="a-malformed-call-has-no-arguments",
        body=STREAMS["malformed-call"],
        expect={"content.0.complete": True, "content.0.arguments": None},
    ),
    Case(
        id="a-citation-belongs-to-its-text",
        body=STREAMS["citation"],
        expect={"content": [cited_block("Hi", source="doc:0", start=0, end=2, data=CITATION)]},
    ),
    Case(
        id="unknown-content-is-other",
        body=answer(delta("content-start", 0, content={"type": "future", "x": 1}), says("lost"), ends()),
        expect={"content": [other("future", {"type": "future", "x": 1})]},
    ),
    Case(
        id="unknown-events-change-nothing",
        body=STREAMS["unknown-event"],
        expect={"status": "complete", "content": [text_block("on")]},
    ),
    Case(
        id="reasoning-tokens-are-a-part-of-the-output",
        body=STREAMS["reasoning-tokens"],
        expect={"usage": usage_counts(input=84, output=314, reasoning=304)},
    ),
    Case(
        id="tokens-alone-say-nothing-of-what-is-billed",
        body=sse(START, over(usage={"tokens": {"input_tokens": 893, "output_tokens": 62}})),
        expect={"status": "complete", "usage": None, "cost": None},
    ),
    Case(
        id="counts-may-be-floats",
        body=sse(START, over(usage={"billed_units": {"input_tokens": 4.0, "output_tokens": 1.5}})),
        expect={"usage": usage_counts(input=4)},
    ),
    Case(
        id="an-error-at-the-end",
        body=STREAMS["error-at-the-end"],
        expect={
            "status": "error",
            "stop": {"reason": "error", "raw": "ERROR"},
            "error": {
                "type": "INVALID_TOOL_GENERATION",
                "message": "invalid tool generation",
                "status": None,
            },
            "content": [thinking_block("I will")],
        },
    ),
    Case(
        id="a-timeout-is-an-error-with-usage",
        body=sse(START, *whole_text("par"), over("TIMEOUT")),
        expect={"status": "error", "error.type": "TIMEOUT", "usage.input": 119, "content.length": 1},
    ),
    Case(
        id="an-error-object-under-a-good-reason",
        body=sse(START, over("COMPLETE", error={"type": "t", "message": "m"})),
        expect={"status": "error", "error": {"type": "t", "message": "m", "status": None}},
    ),
    Case(
        id="an-error-in-mid-stream",
        body=STREAMS["error-in-mid-stream"],
        expect={
            "status": "error",
            "error": {"type": None, "message": "internal error", "status": None},
            "content": [text_block("par")],
        },
    ),
    Case(
        id="an-error-of-a-gateway-in-mid-stream",
        body=sse(START, {"type": "error", "message": "no", "code": "overloaded"}),
        expect={"error": {"type": "overloaded", "message": "no", "status": None}},
    ),
    Case(
        id="done-is-no-end",
        body=STREAMS["done-without-an-end"],
        expect={
            "status": "incomplete",
            "stop": {"reason": None, "raw": None},
            "content": [text_block("par")],
        },
    ),
    Case(
        id="the-end-of-the-body-before-the-end",
        body=sse(START, begins(), says("par")),
        expect={"status": "incomplete", "content": [text_block("par")]},
    ),
    Case(
        id="nothing-counts-behind-the-end",
        body=answer(*whole_text("a")) + sse(says("b", 1)),
        expect={"status": "complete", "content": [text_block("a")]},
    ),
    Case(
        id="an-end-without-a-reason",
        body=sse(START, over(None, None)),
        expect={"status": "complete", "stop": {"reason": "other", "raw": None}, "usage": None},
    ),
    Case(
        id="a-known-event-of-another-shape-is-a-protocol-error",
        body=sse(START, *whole_text("par"), delta("content-delta", 1)),
        expect={"error.type": "protocol", "content": [text_block("par")]},
    ),
    Case(
        id="arguments-that-are-a-number-are-a-protocol-error",
        body=sse(START, calls(), args(1)),
        expect={"error.type": "protocol", "content.0.complete": False},
    ),
    Case(
        id="a-payload-that-is-no-json-is-a-protocol-error",
        body=sse(START, *whole_text("par")) + b"data: {\n\n",
        expect={"error.type": "protocol", "content": [text_block("par")]},
    ),
    # Version 1.
    Case(
        id="v1-text-is-not-said-again-at-the-end",
        body=STREAMS["v1-text"],
        expect={
            "status": "complete",
            "content": [text_block("Hello")],
            "stop": {"reason": "stop", "raw": "COMPLETE"},
            "usage": usage_counts(input=21, output=32),
            "response_id": "reply-1",
            "error": None,
        },
    ),
    Case(
        id="v1-text-in-the-framing-of-v2",
        body=b"".join(b"data: " + line + b"\n\n" for line in STREAMS["v1-text"].splitlines()),
        expect={"status": "complete", "content": [text_block("Hello")]},
    ),
    Case(
        id="v1-a-call-in-pieces-and-whole-is-one-call",
        body=STREAMS["v1-call-in-pieces"],
        expect={
            "content.0": text_block("I will look."),
            "content.1.arguments": {"a": 1},
            "content.1.arguments_text": '{\n "a": 1\n}',
            "content.1.complete": True,
            "content.1.id": "call_1",
            "content.length": 2,
            "stop": {"reason": "tool_use", "raw": "COMPLETE"},
        },
    ),
    Case(
        id="v1-pieces-with-an-index",
        body=STREAMS["v1-numbered-calls-in-pieces"],
        expect={"content.0.arguments": {"a": 1}, "content.1.arguments": {"b": 2}, "content.length": 2},
    ),
    Case(
        id="v1-pieces-with-an-index-that-begins-at-one",
        body=ndjson(
            V1_START,
            piece(index=1, name="f"),
            piece(index=1, parameters='{"a":1}'),
            v1_over("", v1_call(a=1)),
        ),
        expect={"content.0.arguments": {"a": 1}, "content.length": 1},
    ),
    Case(
        id="v1-names-without-an-index-begin-calls",
        body=ndjson(
            V1_START,
            piece(name="f"),
            piece(name="g", text="and"),
            piece(parameters='{"b":2}'),
            v1_calls(v1_call(), v1_call("g", b=2)),
            v1_over("and"),
        ),
        expect={
            "content.0.arguments": {},
            "content.1": text_block("and"),
            "content.2.arguments": {"b": 2},
            "content.length": 3,
        },
    ),
    Case(
        id="v1-a-whole-call",
        body=STREAMS["v1-whole-call"],
        expect={"content.0.arguments": {"a": 1}, "content.0.arguments_text": None, "content.length": 1},
    ),
    Case(
        id="v1-whole-parameters-count-where-the-pieces-are-broken",
        body=ndjson(
            V1_START, piece(name="f"), piece(parameters='{"a": x'), v1_calls(v1_call(a=1)), v1_over()
        ),
        expect={"content.0.arguments": {"a": 1}, "content.0.arguments_text": '{"a": x'},
    ),
    Case(
        id="v1-a-call-that-never-came-whole-is-not-complete",
        body=ndjson(V1_START, piece(name="f"), piece(parameters='{"a":'), v1_over(reason="MAX_TOKENS")),
        expect={"content.0.complete": False, "stop.reason": "length", "status": "complete"},
    ),
    Case(
        id="v1-all-from-the-end",
        body=ndjson(v1_over("Hi", v1_call(a=1), citations=[V1_CITATION])),
        expect={
            "content": [
                cited_block("Hi", source="doc_0", start=0, end=2, data=V1_CITATION),
                {
                    "type": "tool_call",
                    "id": "call_1",
                    "name": "f",
                    "arguments": {"a": 1},
                    "arguments_text": None,
                    "complete": True,
                    "executor": "client",
                },
            ],
            "response_id": "reply-1",
        },
    ),
    Case(
        id="v1-documents-and-citations-count-once",
        body=STREAMS["v1-search"],
        expect={
            "content": [
                other("document", {"id": "doc_0"}),
                cited_block("Hi", source="doc_0", start=0, end=2, data=V1_CITATION),
            ]
        },
    ),
    Case(
        id="v1-searches",
        body=ndjson(
            V1_START,
            event("search-queries-generation", search_queries=[{"text": "q"}]),
            event("search-results", search_results=[{"document_ids": []}], documents=[]),
            event("debug", prompt="x"),
            v1_over(),
        ),
        expect={
            "content": [other("search_query", {"text": "q"}), other("search_result", {"document_ids": []})]
        },
    ),
    Case(
        id="v1-the-end-of-the-context-is-length",
        body=STREAMS["v1-truncated"],
        expect={"status": "complete", "stop": {"reason": "length", "raw": "ERROR_LIMIT"}},
    ),
    Case(
        id="v1-an-error",
        body=STREAMS["v1-error"],
        expect={"status": "error", "error.type": "ERROR", "content": [text_block("par")]},
    ),
    Case(
        id="v1-the-reason-of-the-response",
        body=ndjson(V1_START, {"event_type": "stream-end", "response": response("Hi")}),
        expect={"stop": {"reason": "stop", "raw": "COMPLETE"}},
    ),
    Case(
        id="v1-an-end-without-a-response",
        body=ndjson(V1_START, v1_says("a"), {"event_type": "stream-end", "finish_reason": "COMPLETE"}),
        expect={"status": "complete", "content": [text_block("a")], "usage": None},
    ),
    Case(
        id="v1-the-end-of-the-body-before-the-end",
        body=ndjson(V1_START, v1_plans("a"), piece(name="f"), piece(parameters="{}")),
        expect={"status": "incomplete", "content.0": text_block("a"), "content.1.complete": False},
    ),
    # Bodies that are not a stream
    Case(
        id="an-error-document",
        body=b'{"message":"invalid request: all elements in tools must have a name."}',
        fields={"status": 400},
        expect={
            "error": {
                "type": None,
                "message": "invalid request: all elements in tools must have a name.",
                "status": 400,
            }
        },
    ),
    Case(
        id="an-error-document-that-claims-success",
        body=b'{"message":"no"}',
        expect={"status": "error", "error.message": "no"},
    ),
    Case(
        id="an-error-document-over-several-lines",
        body=b'{\n  "message": "no"\n}\n',
        expect={"status": "error", "error.message": "no"},
    ),
    Case(
        id="a-page-instead-of-a-stream",
        body=b"<html>no</html>",
        expect={"status": "error", "error.type": "protocol"},
    ),
    Case(id="nothing-at-all", body=b"", expect={"status": "error", "error.type": "protocol"}),
    Case(id="a-byte-order-mark-alone", body=b"\xef\xbb", expect={"status": "error"}),
    Case(
        id="blanks-and-a-byte-order-mark-before-a-line",
        body=b"\xef\xbb\xbf\n " + STREAMS["v1-text"],
        expect={"status": "complete", "content": [text_block("Hello")]},
    ),
    Case(
        id="blanks-and-a-byte-order-mark-before-an-event",
        body=b"\xef\xbb\xbf\n" + STREAMS["text"],
        expect={"status": "complete", "content": [text_block("Hello")]},
    ),
]


@for_each("case", CASES, ids=lambda case: case.id)
def test_a_stream_has_the_expected_outcome(case: Case) -> None:
    assert_outcome(case, "cohere-chat")


@pytest.mark.parametrize("raw", sorted(STOP_REASONS))
def test_every_reason_of_the_documentation_is_known(raw: str) -> None:
    for body in (answer(*whole_text("a"), reason=raw), ndjson(V1_START, v1_over("a", reason=raw))):
        assert at(decode(body).outcome, "stop") == {"reason": STOP_REASONS[raw], "raw": raw}


def test_the_answer_without_streaming_equals_its_stream() -> None:
    document = {
        "id": "reply-1",
        "finish_reason": "TOOL_CALL",
        "message": {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hmm"}, {"type": "text", "text": "Hi"}],
            "tool_plan": "I will look.",
            "tool_calls": [
                {"id": "f_0", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
                {"id": "g_1", "type": "function", "function": {"name": "g", "arguments": "null"}},
            ],
            "citations": [CITATION],
        },
        "usage": USAGE,
    }
    stream = answer(
        *whole_text("hmm", 0, "thinking"),
        *whole_text("Hi", 1),
        plans("I will look."),
        *whole_call('{"a":1}'),
        calls(1, "g", "null"),
        called(1),
        delta("citation-start", 0, citations=CITATION),
        reason="TOOL_CALL",
    )
    found = decode_document(json.dumps(document).encode(), "cohere-chat", pricing=PRICES).to_json()
    assert found == decode(stream).outcome


def test_the_answer_of_v1_without_streaming_equals_its_stream() -> None:
    document = response("Hi", tool_calls=[v1_call(a=1)])
    stream = ndjson(V1_START, v1_says("Hi"), v1_calls(v1_call(a=1)), v1_over("Hi", v1_call(a=1)))
    found = decode_document(json.dumps(document).encode(), "cohere-chat", pricing=PRICES).to_json()
    assert found == decode(stream).outcome


def test_done_may_be_missing() -> None:
    assert decode(STREAMS["text"].removesuffix(DONE)).outcome == decode(STREAMS["text"]).outcome
