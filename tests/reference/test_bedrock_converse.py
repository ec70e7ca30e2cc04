"""Bedrock Converse: the outcome of each form of stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_dev.fuzz.exchange import (
    PRICES,
    Answer,
    Case,
    assert_event_rules,
    assert_outcome,
    at,
    cited_block,
    text_block,
    thinking_block,
    usage_counts,
)
from streamconform_dev.fuzz.exchange import decode as decode_any
from streamconform_reference.apis.bedrock_converse.decode import STOP_REASONS
from streamconform_reference.apis.bedrock_converse.failures import EXCEPTIONS
from streamconform_reference.document import decode_document

from .bedrock_converse_streams import (
    START,
    STREAMS,
    USAGE,
    Payload,
    answer,
    args,
    begins,
    delta,
    ends,
    exception,
    frame,
    metadata,
    named,
    says,
    stop,
    thinks,
    tool,
    whole_call,
    whole_text,
)


def decode(body: Any, **fields: Any) -> Answer:
    return decode_any(body, api="bedrock-converse", **fields)


FULL_USAGE = usage_counts(input=100, cache_read=2000, cache_write=500, output=300)

CASES = [
    Case(
        id="text",
        body=STREAMS["text"],
        expect={
            "status": "complete",
            "content": [text_block("Hello")],
            "stop": {"reason": "stop", "raw": "end_turn"},
            "usage": FULL_USAGE,
            "cost.total": "0.007275",
            "error": None,
            "model": None,
            "response_id": None,
        },
    ),
    Case(
        id="an-empty-start-says-nothing",
        body=STREAMS["empty-start"],
        expect={"content": [text_block("Hi")]},
    ),
    Case(
        id="text-before-a-call",
        body=STREAMS["text-then-call"],
        expect={
            "content": [
                text_block("I look."),
                {
                    "type": "tool_call",
                    "id": "tooluse_1",
                    "name": "f",
                    "arguments": {"city": "Paris"},
                    "arguments_text": '{"city": "Paris"}',
                    "complete": True,
                    "executor": "client",
                },
            ],
            "stop": {"reason": "tool_use", "raw": "tool_use"},
        },
    ),
    Case(
        id="calls-are-told-apart-by-their-index",
        body=STREAMS["interleaved-calls"],
        expect={
            "content.0.arguments": {"a": 1},
            "content.1.arguments": {"b": 2},
            "content.length": 2,
            "stop.reason": "tool_use",
        },
    ),
    Case(
        id="an-empty-fragment-is-no-arguments",
        body=STREAMS["no-arguments"],
        expect={"content.0.arguments": {}, "content.0.complete": True},
    ),
    Case(
        id="input-as-a-value",
        body=answer(tool(0), args({"a": 1}), stop(), reason="tool_use"),
        expect={"content.0.arguments": {"a": 1}, "content.0.arguments_text": None},
    ),
    Case(
        id="a-truncated-call-is-not-complete",
        body=STREAMS["truncated-call"],
        expect={
            "content.0.complete": False,
            "content.0.arguments_text": '{"a": "par',
            "stop.reason": "length",
            "status": "complete",
        },
    ),
    Case(
        id="a-malformed-call-has-no-arguments",
        body=STREAMS["malformed-call"],
        expect={"content.0.complete": True, "content.0.arguments": None},
    ),
    Case(
        id="a-tool-of-the-provider-and-its-result-and-a-citation",
        body=STREAMS["provider-tool"],
        expect={
            "content.0.executor": "provider",
            "content.1.kind": "tool_result",
            "content.1.data.content": [{"text": "found"}],
            "content.2.text": "cited",
            "content.2.citations.0.title": "t",
            "stop.reason": "stop",
        },
    ),
    Case(
        id="unknown-blocks-are-other-and-unknown-deltas-nothing",
        body=answer(
            begins(0, image={"format": "png"}),
            delta(0, image={"x": 1}),
            delta(0, future=[]),
            stop(),
            says("a", 1),
        ),
        expect={
            "content.0": {"type": "other", "kind": "image", "data": {"format": "png"}},
            "content.1": text_block("a"),
        },
    ),
    Case(
        id="reasoning-with-its-signature",
        body=STREAMS["reasoning-then-text"],
        expect={"content": [thinking_block("hmm", "c2ln"), text_block("Yes")]},
    ),
    Case(
        id="redacted-reasoning",
        body=STREAMS["redacted-reasoning"],
        expect={"content.0": thinking_block("", "b3BhcXVl", redacted=True)},
    ),
    Case(
        id="redacted-reasoning-under-a-proxys-name",
        body=answer(thinks(data="b3BhcXVl"), stop()),
        expect={"content.0": thinking_block("", "b3BhcXVl", redacted=True)},
    ),
    Case(
        id="a-signature-alone-and-no-stop-of-its-block",
        body=STREAMS["signature-without-text"],
        expect={"content.0": thinking_block("", "c2ln")},
    ),
    Case(
        id="what-no-block-stop-ended-ends-with-the-message",
        body=STREAMS["no-block-stops"],
        expect={"content.1.complete": True, "content.1.arguments": {"a": 1}, "stop.reason": "tool_use"},
    ),
    Case(
        id="a-call-that-no-block-stop-ended-is-cut-where-the-answer-is-truncated",
        body=answer(tool(0), args('{"a":1}'), reason="max_tokens"),
        expect={"content.0.complete": False, "stop.reason": "length"},
    ),
    Case(
        id="usage-before-the-stop",
        body=STREAMS["metadata-first"],
        expect={"status": "complete", "usage": FULL_USAGE},
    ),
    Case(
        id="an-object-among-the-counts",
        body=answer(whole_text("Hi")) + metadata(usage={"outputTokens": 3, "serverToolUsage": {}}),
        expect={"status": "complete", "usage.output": 3},
    ),
    *(
        Case(
            id=f"{reason}-after-a-whole-call",
            body=answer(whole_call('{"x":1}'), reason=reason),
            expect={"stop": {"reason": "content_filter", "raw": reason}, "content.0.name": "f"},
        )
        for reason in ("content_filtered", "guardrail_intervened")
    ),
    Case(
        id="metrics-alone-do-not-erase-usage",
        body=STREAMS["metrics-behind-usage"],
        expect={"status": "complete", "usage": FULL_USAGE},
    ),
    Case(
        id="the-last-report-of-each-field-wins",
        body=answer(whole_text("Hi")) + metadata(usage={"outputTokens": 0, "inputTokens": None}),
        expect={"usage": {**FULL_USAGE, "output": 0}},
    ),
    Case(
        id="writes-for-an-hour-and-a-service-tier",
        body=STREAMS["written-for-an-hour"],
        fields={"pricing": {**PRICES, "service_tier": {"flex": "0.5"}}},
        expect={
            "usage": {**FULL_USAGE, "cache_write_1h": 200},
            "cost.cache_write": "0.0011625",
            "cost.input": "0.00015",
        },
    ),
    Case(
        id="metadata-is-no-end",
        body=STREAMS["metadata-without-a-stop"],
        expect={
            "status": "incomplete",
            "stop": {"reason": None, "raw": None},
            "usage": FULL_USAGE,
            "content": [text_block("par")],
        },
    ),
    Case(
        id="a-cut-inside-the-metadata-is-incomplete",
        body=START + whole_text("Hi") + ends() + metadata(usage=USAGE)[:-1],
        expect={"status": "incomplete", "usage": None, "cost": None},
    ),
    Case(
        id="the-end-of-the-body-before-the-stop",
        body=START + says("par"),
        expect={"status": "incomplete", "content": [text_block("par")]},
    ),
    Case(
        id="a-stop-without-a-reason",
        body=answer(whole_text("Hi"), reason=None),  # type: ignore[arg-type]
        expect={"status": "complete", "stop": {"reason": "other", "raw": None}},
    ),
    Case(
        id="a-reason-that-is-new",
        body=answer(whole_text("Hi"), reason="future"),
        expect={"status": "complete", "stop": {"reason": "other", "raw": "future"}},
    ),
    Case(
        id="malformed-output-is-an-error",
        body=STREAMS["malformed-output"],
        expect={
            "status": "error",
            "stop": {"reason": "error", "raw": "malformed_tool_use"},
            "error": {"type": "malformed_tool_use", "message": None, "status": None},
            "content": [text_block("par")],
            "usage": FULL_USAGE,
        },
    ),
    Case(
        id="an-exception-ends-the-answer",
        body=STREAMS["exception"],
        expect={
            "status": "error",
            "error": {"type": "throttlingException", "message": "Too many requests", "status": 429},
            "stop": {"reason": "error", "raw": None},
            "content": [text_block("par")],
        },
    ),
    Case(
        id="an-exception-counts-behind-the-stop-too",
        body=STREAMS["exception-behind-the-stop"],
        expect={"status": "error", "error.status": 500, "stop": {"reason": "error", "raw": "end_turn"}},
    ),
    Case(
        id="an-exception-with-the-words-of-the-model-alone",
        body=START
        + exception("modelStreamErrorException", "", originalMessage="boom", originalStatusCode=500),
        expect={"error": {"type": "modelStreamErrorException", "message": "boom", "status": 424}},
    ),
    Case(
        id="an-exception-that-is-new-and-no-json",
        body=START + named({":message-type": "exception", ":exception-type": "futureException"}, b"no json"),
        expect={"error": {"type": "futureException", "message": "no json", "status": None}},
    ),
    Case(
        id="an-error-message-without-a-payload",
        body=STREAMS["error-message"],
        expect={"error": {"type": "InternalFailure", "message": "it broke", "status": None}},
    ),
    Case(
        id="an-exception-as-an-event",
        body=START + frame("validationException", {"message": "no"}),
        expect={"error": {"type": "validationException", "message": "no", "status": 400}},
    ),
    Case(
        id="the-type-in-the-payload-where-no-header-has-it",
        body=named({}, b'{"messageStart":{"role":"assistant"}}')
        + named({}, b'{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"Hi"}},"metadata":null}')
        + named({}, b'{"messageStop":{"stopReason":"end_turn"}}'),
        expect={"status": "complete", "content": [text_block("Hi")]},
    ),
    Case(
        id="unknown-events-change-nothing",
        body=STREAMS["unknown-event"],
        expect={"status": "complete", "content": [text_block("on")]},
    ),
    Case(
        id="a-damaged-message-is-a-protocol-error",
        body=STREAMS["damaged"],
        expect={"status": "error", "error.type": "protocol"},
    ),
    Case(
        id="a-payload-that-is-no-json-is-a-protocol-error",
        body=START + says("par") + named({":event-type": "contentBlockDelta"}, b"{"),
        expect={"status": "error", "error.type": "protocol", "content": [text_block("par")]},
    ),
    Case(
        id="a-known-event-of-another-shape-is-a-protocol-error",
        body=START + says("par") + frame("contentBlockDelta", {"delta": {"text": "x"}}),
        expect={"error.type": "protocol", "content": [text_block("par")]},
    ),
    Case(
        id="text-that-is-no-text-is-a-protocol-error",
        body=START + says("par") + delta(0, text=["x"]),
        expect={"error.type": "protocol", "content": [text_block("par")]},
    ),
    Case(
        id="a-failed-response-names-its-type-in-a-header",
        body=b'{"message":"The provided model identifier is invalid."}',
        fields={
            "status": 400,
            "headers": {"x-amzn-errortype": "ValidationException:http://internal.amazon.com/coral/"},
        },
        expect={
            "error": {
                "type": "ValidationException",
                "message": "The provided model identifier is invalid.",
                "status": 400,
            }
        },
    ),
    Case(
        id="a-failed-response-names-its-type-in-the-document",
        body=b'{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}',
        fields={"status": 403},
        expect={"error.type": "AccessDeniedException", "error.status": 403},
    ),
    Case(
        id="a-document-instead-of-a-stream",
        body=b'{"message":"no"}',
        expect={"error": {"type": "protocol", "message": "no", "status": None}},
    ),
    Case(
        id="a-page-instead-of-a-stream",
        body=b"<html>no</html>",
        expect={"status": "error", "error.type": "protocol"},
    ),
    Case(id="nothing-at-all", body=b"", expect={"status": "error", "error.type": "protocol"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_stream_has_the_expected_outcome(case: Case) -> None:
    assert_outcome(case, "bedrock-converse")


@pytest.mark.parametrize("raw", sorted(STOP_REASONS))
def test_every_reason_of_the_documentation_is_known(raw: str) -> None:
    outcome = decode(answer(whole_call('{"a":1}'), reason=raw)).outcome
    expected = "tool_use" if STOP_REASONS[raw] == "stop" else STOP_REASONS[raw]
    assert at(outcome, "stop") == {"reason": expected, "raw": raw}


@pytest.mark.parametrize("kind", sorted(EXCEPTIONS))
def test_every_exception_of_the_documentation_has_its_status(kind: str) -> None:
    assert decode(START + exception(kind)).outcome["error"]["status"] == EXCEPTIONS[kind]


DOCUMENT: Payload = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hmm", "signature": "c2ln"}}},
                {"reasoningContent": {"redactedContent": "b3BhcXVl"}},
                {"text": "Hi"},
                {"toolUse": {"toolUseId": "tooluse_3", "name": "f", "input": {"a": 1}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": USAGE,
    "metrics": {"latencyMs": 9},
}


def test_the_answer_without_streaming_equals_its_stream_but_for_the_text_of_its_calls() -> None:
    stream = answer(
        thinks(text="hmm"),
        thinks(signature="c2ln"),
        stop(),
        thinks(1, redactedContent="b3BhcXVl"),
        stop(1),
        whole_text("Hi", 2),
        whole_call('{"a":1}', 3),
        reason="tool_use",
    )
    expected = decode(stream).outcome
    assert expected["content"][3].pop("arguments_text") == '{"a":1}'
    found = decode_document(json.dumps(DOCUMENT).encode(), "bedrock-converse", pricing=PRICES).to_json()
    assert found["content"][3].pop("arguments_text") is None
    assert found == expected


SEQUENCES: list[tuple[str, Any, str | None]] = [
    ("stop_sequence", {"stop_sequence": "END"}, "END"),
    ("stop_sequence", {"delta": {"stop_sequence": "END"}}, "END"),
    ("stop_sequence", {"stop_sequence": None}, None),
    ("stop_sequence", ["END"], None),
    ("stop_sequence", None, None),
    ("end_turn", {"stop_sequence": "END"}, None),
]


@pytest.mark.parametrize(("reason", "fields", "sequence"), SEQUENCES)
def test_the_matched_sequence_is_among_the_members_of_the_models_answer(
    reason: str, fields: Any, sequence: str | None
) -> None:
    end = {"stopReason": reason, "additionalModelResponseFields": fields}
    stream = START + whole_text("Hi") + frame("messageStop", end) + metadata(usage=USAGE)
    document = {"output": {"message": {"content": [{"text": "Hi"}]}}, **end, "usage": USAGE}
    read = decode_document(json.dumps(document).encode(), "bedrock-converse", pricing=PRICES).to_json()
    assert decode(stream).outcome["stop"]["sequence"] == sequence
    assert read["stop"]["sequence"] == sequence


def test_cited_text_of_a_document_is_text_with_citations() -> None:
    content = [{"citationsContent": {"content": [{"text": "a"}], "citations": [{"title": "t"}]}}]
    document = {"output": {"message": {"content": content}}, "stopReason": "end_turn"}
    found = decode_document(json.dumps(document).encode(), "bedrock-converse").to_json()
    assert at(found, "content") == [cited_block("a", title="t", data={"title": "t"})]


@given(
    name=st.sampled_from(sorted(STREAMS)),
    position=st.integers(0, 900),
    damage=st.binary(min_size=1, max_size=4),
)
def test_no_damage_raises_or_passes_for_an_answer(name: str, position: int, damage: bytes) -> None:
    body = STREAMS[name]
    broken = body[:position] + damage + body[position + len(damage) :]
    found = decode(broken)
    assert_event_rules(found)
    if broken != body and len(broken) == len(body):
        assert found.outcome["status"] == "error" or found.outcome == decode(body).outcome
