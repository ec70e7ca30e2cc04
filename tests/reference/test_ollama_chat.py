"""Ollama's own chat: the outcome of each form of stream."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from streamconform_dev.fuzz import chunkings
from streamconform_dev.fuzz.exchange import (
    Answer,
    Case,
    assert_event_rules,
    assert_outcome,
    call_block,
    text_block,
    thinking_block,
)
from streamconform_dev.fuzz.exchange import decode as decode_any
from streamconform_reference.document import decode_document

from .ollama_chat_streams import ERROR, HEAD, STREAMS, Payload, call, calls, ends, lines, record, thinks


def decode(body: Any, **fields: Any) -> Answer:
    return decode_any(body, api="ollama-chat", **fields)


COMPLETE = {"status": "complete", "stop": {"reason": "stop", "raw": "stop"}, "error": None}
CALLED = {"status": "complete", "stop": {"reason": "tool_use", "raw": "stop"}}

CASES = [
    Case(
        "deltas-are-one-block",
        STREAMS["text"],
        {**COMPLETE, "content": [text_block("Hello")], "model": "llama-x", "response_id": None},
    ),
    Case("crlf", STREAMS["crlf"], {**COMPLETE, "content": [text_block("crlf")]}),
    Case(
        "thinking-and-text-in-one-record",
        STREAMS["thinking-then-text"],
        {**COMPLETE, "content": [thinking_block("hmm"), text_block("Yes")]},
    ),
    Case(
        "thinking-behind-text-is-a-new-block",
        lines(thinks("a"), record("b"), thinks("c"), ends()),
        {"content": [thinking_block("a"), text_block("b"), thinking_block("c")]},
    ),
    Case("tags-stay-text", STREAMS["think-tags"], {"content": [text_block("<think>hm</think>Yes")]}),
    Case(
        "a-call-is-whole-in-its-record",
        STREAMS["call"],
        {**CALLED, "content": [call_block("f", {"city": "Paris"}, "call_a")]},
    ),
    Case(
        "a-call-on-the-last-record",
        STREAMS["call-on-the-last-record"],
        {**CALLED, "content": [thinking_block("hm"), call_block("f", {"x": 1}, "call_a")]},
    ),
    Case(
        "calls-without-ids-get-some",
        STREAMS["calls-without-ids"],
        {**CALLED, "content": [call_block("f", {"x": 1}, "call_0"), call_block("f", {"x": 2}, "call_1")]},
    ),
    Case(
        "calls-of-one-index-are-two",
        STREAMS["calls-of-one-index"],
        {"content": [call_block("f", {"x": 1}, "a"), call_block("g", {"y": 2}, "b")]},
    ),
    Case(
        "calls-of-one-id-are-two",
        lines(calls(call("f", {"x": 1}, id="a"), call("f", {"x": 2}, id="a")), ends()),
        {"content.0.id": "a", "content.1.id": "a_2"},
    ),
    Case(
        "no-arguments-are-an-empty-object",
        STREAMS["no-arguments"],
        {"content": [call_block("f", {}, "call_0")]},
    ),
    Case(
        "arguments-as-text-are-a-fragment",
        STREAMS["text-arguments"],
        {**CALLED, "content": [call_block("f", {"x": 1}, "call_0", '{"x": 1}')]},
    ),
    Case(
        "arguments-as-text-that-does-not-parse",
        STREAMS["malformed-text-arguments"],
        {**CALLED, "content": [call_block("f", None, "call_0", '{"x": INVALID}')]},
    ),
    Case(
        "text-before-and-behind-a-call",
        lines(record("a"), calls(call("f", {})), record("b"), ends()),
        {"content": [text_block("a"), call_block("f", {}, "call_1"), text_block("b")]},
    ),
    Case(
        "text-and-a-call-in-one-record",
        lines(record("a", tool_calls=[call("f", {})]), ends()),
        {"content": [text_block("a"), call_block("f", {}, "call_1")]},
    ),
    Case(
        "length-behind-a-call",
        STREAMS["length-behind-a-call"],
        {"stop": {"reason": "length", "raw": "length"}, "content.0.complete": True},
    ),
    Case(
        "length-and-a-call-that-does-not-parse",
        lines(calls(call("f", '{"x": ')), ends("length")),
        {"stop.reason": "length", "content": [call_block("f", None, "call_0", '{"x": ', complete=False)]},
    ),
    Case(
        "load",
        STREAMS["load"],
        {
            "status": "complete",
            "stop": {"reason": "other", "raw": "load"},
            "content": [],
            "usage": None,
        },
    ),
    Case("unload", lines(ends("unload")), {"stop": {"reason": "other", "raw": "unload"}}),
    Case("an-unknown-reason", lines(ends("abort")), {"stop": {"reason": "other", "raw": "abort"}}),
    Case(
        "no-reason-is-stop",
        STREAMS["no-done-reason"],
        {"status": "complete", "stop": {"reason": "stop", "raw": None}},
    ),
    Case(
        "no-done-is-a-cut",
        STREAMS["no-done"],
        {"status": "incomplete", "stop": {"reason": None, "raw": None}, "content": [text_block("ab")]},
    ),
    Case(
        "a-reason-without-done-is-a-cut",
        lines({**record("a"), "done_reason": "stop"}),
        {"status": "incomplete", "stop.reason": None},
    ),
    Case(
        "nothing-counts-behind-done",
        lines(record("a"), ends(), record("b"), ERROR),
        {**COMPLETE, "content": [text_block("a")]},
    ),
    Case(
        "an-error-in-mid-stream",
        STREAMS["error-in-mid-stream"],
        {
            "status": "error",
            "stop": {"reason": "error", "raw": None},
            "error": {"type": None, "message": ERROR["error"], "status": None},
            "content": [text_block("par")],
        },
    ),
    Case(
        "an-error-as-the-key",
        lines(record("par"), {"error parsing tool call": "invalid character 'x'"}),
        {
            "status": "error",
            "error.message": "error parsing tool call: invalid character 'x'",
            "content": [text_block("par")],
        },
    ),
    Case(
        "unknown-records-and-fields-say-nothing",
        lines({"x": 1}, {**HEAD, "done": False}, {**record("a"), "context": [1, 2]}, ends()),
        {**COMPLETE, "content": [text_block("a")]},
    ),
    Case(
        "a-line-without-end", STREAMS["last-line-without-end"], {**COMPLETE, "content": [text_block("end")]}
    ),
    Case(
        "a-line-that-is-no-json",
        lines(record("a")) + b"oops\n" + lines(ends()),
        {"status": "error", "error.type": "protocol", "content": [text_block("a")]},
    ),
    Case("the-first-model-counts", lines(record("a"), {**ends(), "model": "x"}), {"model": "llama-x"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_stream_has_the_expected_outcome(case: Case) -> None:
    assert_outcome(case, "ollama-chat")


BROKEN: tuple[Payload, ...] = (
    {**HEAD, "message": "a"},
    record(thinking=1),
    {**HEAD, "message": {"content": ["a"]}},
    record(tool_calls={"a": 1}),
    record(tool_calls=["f"]),
    record(tool_calls=[{"name": "f"}]),
    {**HEAD, "done": True, "done_reason": 1},
)


@pytest.mark.parametrize("payload", BROKEN, ids=str)
def test_a_broken_record_is_a_protocol_error_and_keeps_earlier_content(payload: Payload) -> None:
    answer = decode(lines(record("a"), payload, record("b"), ends()))
    assert answer.outcome["status"] == "error"
    assert answer.outcome["error"]["type"] == "protocol"
    assert answer.content == [text_block("a")] or answer.content[0] == text_block("a")
    assert_event_rules(answer)


@dataclass(frozen=True, slots=True)
class Counts:
    """`buckets` are input, cache_read and output."""

    id: str
    counts: dict[str, Any]
    buckets: tuple[int | None, ...]


COUNTS = [
    Counts("plain", {"prompt_eval_count": 10, "eval_count": 5}, (10, None, 5)),
    Counts("an-absent-prompt-is-not-known", {"eval_count": 5}, (None, None, 5)),
    Counts("an-absent-answer-is-not-known", {"prompt_eval_count": 10}, (10, None, None)),
    Counts("zero-is-zero", {"prompt_eval_count": 0, "eval_count": 0}, (0, None, 0)),
    Counts(
        "the-cached-part",
        {"prompt_eval_count": 100, "prompt_eval_cached_count": 60, "eval_count": 5},
        (40, 60, 5),
    ),
    Counts("not-a-count", {"prompt_eval_count": -1, "eval_count": 5}, (None, None, 5)),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in COUNTS])
def test_usage(case: Counts) -> None:
    answer = decode(lines(record("a"), ends(**case.counts)))
    found = answer.outcome["usage"]
    assert tuple(found[name] for name in ("input", "cache_read", "output")) == case.buckets
    assert found["reasoning"] is None
    assert [event for event in answer.events if event["type"] == "usage"][-1]["usage"] == found


# Responses that are no stream.


@pytest.mark.parametrize("status", [200, 404, 500])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_an_error_document(status: int, end: bytes) -> None:
    body = json.dumps({"error": "model 'x' not found"}).encode() + end
    for chunks in ([body], chunkings.bytewise(body)):
        outcome = decode(chunks, status=status).outcome
        assert outcome["status"] == "error"
        failed = status if status >= 400 else None
        assert outcome["error"] == {"type": None, "message": "model 'x' not found", "status": failed}


def test_an_error_document_over_several_lines() -> None:
    body = json.dumps({"error": {"message": "no", "type": "t"}}, indent=2).encode()
    assert decode(body).outcome["error"] == {"type": "t", "message": "no", "status": None}
    assert decode(body, status=401).outcome["error"] == {"type": "t", "message": "no", "status": 401}


@pytest.mark.parametrize("body", [b"", b"\n", b"<html>\n</html>", b"[1]", b'"x"', b'{"model": "x"'])
def test_a_body_without_records_is_never_complete(body: bytes) -> None:
    assert decode(body).outcome["status"] != "complete"


def test_an_answer_without_streaming_equals_its_stream() -> None:
    entry = call("f", {"x": 1}, id="a")
    document = ends("stop", "Hi", entry)
    document["message"]["thinking"] = "hm"
    stream = lines(thinks("hm"), record("Hi"), calls(entry), ends())
    whole = decode_document(json.dumps(document).encode(), "ollama-chat").to_json()
    assert whole == decode(stream, pricing=None).outcome
    assert whole["status"] == "complete"


# Events.


def test_a_call_ends_with_its_record() -> None:
    answer = decode(lines(record("a"), calls(call("f", {"x": 1})), record("b")))
    assert answer.types() == [
        *("text_start", "text_delta", "text_end", "toolcall_start", "toolcall_end"),
        *("text_start", "text_delta", "error"),
    ]


def test_long_thinking_is_emitted_delta_by_delta() -> None:
    answer = decode(lines(*(thinks(f"{n} ") for n in range(50)), ends()))
    assert answer.types().count("thinking_delta") == 50
    assert answer.content == [thinking_block("".join(f"{n} " for n in range(50)))]


def test_a_huge_last_record_is_read() -> None:
    body = lines(record("a"), {**ends(), "context": list(range(100_000))})
    assert decode(chunkings.at(body, list(range(0, len(body), 4096)))).outcome["status"] == "complete"
