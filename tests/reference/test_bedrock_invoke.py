"""Bedrock InvokeModel: what its messages add to Anthropic's events, and its documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamconform_dev.fuzz.exchange import (
    PRICES,
    Answer,
    Case,
    assert_event_rules,
    assert_outcome,
    text_block,
    without_empty_fields,
)
from streamconform_dev.fuzz.exchange import decode as decode_any
from streamconform_reference.apis.bedrock_converse.failures import EXCEPTIONS
from streamconform_reference.document import decode_document

from . import streams as anthropic
from .bedrock_converse_streams import exception, named
from .bedrock_invoke_streams import BEGUN, HEADERS, STREAMS, answer, chunk, message, stop
from .streams import args, ends, says, start, tool, whole_text

API = "bedrock-invoke"
GUARDRAIL = "amazon-bedrock-guardrailAction"
METRICS = "amazon-bedrock-invocationMetrics"


def decode(body: Any, **fields: Any) -> Answer:
    return decode_any(body, api=API, **fields)


@pytest.mark.parametrize("name", sorted(anthropic.STREAMS))
def test_the_events_of_anthropic_have_their_outcome(name: str) -> None:
    expected = decode_any(anthropic.STREAMS[name])
    found = decode(STREAMS[name])
    assert found.outcome == expected.outcome
    assert_event_rules(found)


# https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html and the pages below it
OTHER_FAMILIES: dict[str, Any] = {
    "Amazon Nova": {"messageStart": {"role": "assistant"}},
    "Amazon Titan": {"outputText": "Hi", "index": 0, "completionReason": "FINISH"},
    "Meta Llama": {"generation": "Hi", "prompt_token_count": 9, "stop_reason": None},
    "Mistral": {"outputs": [{"text": "Hi", "stop_reason": None}]},
    "Cohere": {"is_finished": False, "event_type": "text-generation", "text": "Hi"},
    "Anthropic's older models": {"type": "completion", "completion": " Hi", "stop_reason": None},
    "an OpenAI-compatible family": {"choices": [{"delta": {"content": "Hi"}}]},
}
CASES = [
    Case(
        id="the-counts-of-anthropic-win",
        body=message(
            start(input_tokens=10, output_tokens=1, cache_read_input_tokens=0),
            *whole_text("Hi"),
            ends(output_tokens=130),
            stop(inputTokenCount=9, outputTokenCount=98, cacheReadInputTokenCount=7),
        ),
        expect={
            "usage.input": 10,
            "usage.output": 130,
            "usage.cache_read": 0,
            "usage.cache_write": None,
        },
    ),
    Case(
        id="the-counts-of-the-service-fill-gaps",
        body=message(
            start(input_tokens=10, output_tokens=1, cache_read_input_tokens=None),
            *whole_text("Hi"),
            ends(output_tokens=5),
            stop(inputTokenCount=9, cacheReadInputTokenCount=7, cacheWriteInputTokenCount=3),
        ),
        expect={
            "usage.input": 10,
            "usage.cache_read": 7,
            "usage.cache_write": 3,
            "usage.output": 5,
            "cost.cache_read": "0.0000021",
        },
    ),
    Case(
        id="the-last-event-may-have-a-usage-that-beats-the-metrics",
        body=message(
            start(),
            *whole_text("Hi"),
            ends(),
            stop(cacheReadInputTokenCount=9) | {"usage": {"cache_read_input_tokens": 7}},
        ),
        expect={"status": "complete", "usage.cache_read": 7, "usage.output": 5},
    ),
    Case(
        id="metrics-of-another-shape-are-ignored",
        body=message(start(), *whole_text("Hi"), ends(), stop() | {METRICS: [1]}),
        expect={"status": "complete", "usage.output": 5},
    ),
    Case(
        id="a-guardrail-that-intervened-beats-the-stop-reason",
        body=answer(*whole_text("No."), **{GUARDRAIL: "INTERVENED"}),
        expect={"status": "complete", "stop": {"reason": "content_filter", "raw": "end_turn"}},
    ),
    Case(
        id="a-guardrail-may-say-so-in-any-event",
        body=message(start() | {GUARDRAIL: "INTERVENED"}, ends(), stop() | {GUARDRAIL: "NONE"}),
        expect={"stop": {"reason": "content_filter", "raw": "end_turn"}},
    ),
    Case(
        id="a-guardrail-that-did-nothing",
        body=answer(*whole_text("Yes."), **{GUARDRAIL: "NONE"}),
        expect={"stop": {"reason": "stop", "raw": "end_turn"}},
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
        id="an-exception-with-the-message-of-the-model-alone",
        body=BEGUN + exception("modelStreamErrorException", "", originalMessage="boom"),
        expect={"error": {"type": "modelStreamErrorException", "message": "boom", "status": 424}},
    ),
    Case(
        id="an-error-message-without-a-payload",
        body=STREAMS["error-message"],
        expect={"error": {"type": "InternalFailure", "message": "it broke", "status": None}},
    ),
    Case(
        id="an-error-in-a-chunk",
        body=BEGUN + message(anthropic.ERROR),
        expect={"error.type": "overloaded_error", "error.message": "Overloaded", "status": "error"},
    ),
    Case(
        id="an-exception-after-the-end-is-ignored",
        body=answer(*whole_text("Hi")) + exception("throttlingException"),
        expect={"status": "complete", "error": None},
    ),
    Case(
        id="a-broken-chunk-after-the-end-is-ignored",
        body=answer(*whole_text("Hi")) + named(HEADERS, b"{"),
        expect={"status": "complete", "error": None},
    ),
    Case(
        id="the-end-of-the-body-before-the-stop",
        body=BEGUN + message(ends()),
        expect={"status": "incomplete", "content": [text_block("par")], "stop.reason": None},
    ),
    Case(
        id="a-cut-message",
        body=answer(*whole_text("Hi"))[:-1],
        expect={"status": "incomplete", "content": [text_block("Hi")]},
    ),
    Case(
        id="unknown-messages-change-nothing",
        body=STREAMS["unknown-message"],
        expect={"content": [text_block("paris")], "status": "incomplete"},
    ),
    Case(
        id="a-chunk-without-bytes-changes-nothing",
        body=STREAMS["no-bytes"],
        expect={"content": [text_block("paris")], "status": "incomplete"},
    ),
    Case(
        id="a-message-without-a-type-is-a-chunk",
        body=message(start()) + named({}, b'{"bytes":"e30="}') + message(*whole_text("Hi"), ends(), stop()),
        expect={"content": [text_block("Hi")], "status": "complete"},
    ),
    *(
        Case(
            id=f"{name}-is-a-protocol-error",
            body=body,
            expect={"status": "error", "error.type": "protocol", "content": [text_block("par")]},
        )
        for name, body in {
            "bytes-that-are-not-base64": STREAMS["not-base64"],
            "bytes-that-are-not-text": BEGUN + named(HEADERS, b'{"bytes":{"type":"ping"}}'),
            "an-event-that-is-not-json": STREAMS["not-json"],
            "a-chunk-that-is-not-json": BEGUN + named(HEADERS, b"plain"),
            "a-chunk-that-is-not-an-object": BEGUN + named(HEADERS, b"[]"),
        }.items()
    ),
    Case(
        id="a-damaged-message-is-a-protocol-error",
        body=STREAMS["damaged"],
        expect={"status": "error", "error.type": "protocol"},
    ),
    Case(
        id="a-failed-response-names-its-type-in-a-header",
        body=b'{"message":"Malformed input request: extraneous key [x] is not permitted"}',
        fields={"status": 400, "headers": {"x-amzn-errortype": "ValidationException:http://internal/"}},
        expect={
            "error.type": "ValidationException",
            "error.message": "Malformed input request: extraneous key [x] is not permitted",
            "error.status": 400,
        },
    ),
    Case(
        id="a-document-instead-of-a-stream",
        body=b'{"message":"no"}',
        expect={"error": {"type": "protocol", "message": "no", "status": None}},
    ),
    *(
        Case(
            id=f"a-refusal-after-a-whole-call-with-the-reason-{reason}",
            body=message(
                start(),
                *(tool(0), args(0, "{}"), anthropic.stop()),
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": reason, "stop_details": {"type": "refusal"}},
                },
                stop(),
            ),
            expect={
                "status": "complete",
                "stop.reason": "refusal",
                "stop.raw": reason,
                "content.0.name": "f",
            },
        )
        for reason in ("refusal", "tool_use")
    ),
    *(
        Case(
            id=f"a-stream-of-{family}",
            body=chunk(payload),
            expect={
                "status": "error",
                "error.type": "protocol",
                "error.message": f"the answer is in the format of {family}, not of Anthropic Messages",
            },
        )
        for family, payload in OTHER_FAMILIES.items()
    ),
    Case(id="nothing-at-all", body=b"", expect={"status": "error", "error.type": "protocol"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_stream_has_the_expected_outcome(case: Case) -> None:
    assert_outcome(case, "bedrock-invoke")


@pytest.mark.parametrize("kind", sorted(EXCEPTIONS))
def test_every_exception_of_the_documentation_has_its_status(kind: str) -> None:
    assert decode(BEGUN + exception(kind)).outcome["error"]["status"] == EXCEPTIONS[kind]


DOCUMENT = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [{"type": "text", "text": "Hi"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 5},
}


def document(**members: Any) -> Any:
    body = json.dumps(DOCUMENT | members).encode()
    return without_empty_fields(decode_document(body, API, pricing=PRICES).to_json())


def test_the_answer_without_streaming_equals_its_stream() -> None:
    assert document() == without_empty_fields(decode(answer(*whole_text("Hi"))).outcome)


def test_a_document_says_that_a_guardrail_intervened() -> None:
    stopped = {"reason": "content_filter", "raw": "end_turn"}
    assert document(**{GUARDRAIL: "INTERVENED"})["stop"] == stopped


def test_a_document_of_an_error_may_name_its_type() -> None:
    body = b'{"__type":"ThrottlingException","message":"slow down"}'
    outcome = without_empty_fields(decode_document(body, API).to_json())
    assert outcome["error"] == {"type": "throttlingException", "message": "slow down", "status": 429}


def test_text_beyond_ascii_is_read_as_utf8() -> None:
    found = decode(message(start()) + chunk(anthropic.text()) + chunk(says("é 🌤 天")))
    assert found.content == [text_block("é 🌤 天")]


@pytest.mark.parametrize(
    ("family", "document"),
    [
        ("Amazon Nova", {"output": {"message": {"content": [{"text": "Hi"}]}}, "stopReason": "end_turn"}),
        ("Amazon Titan", {"inputTextTokenCount": 5, "results": [{"outputText": "Hi"}]}),
        ("Meta Llama", {"generation": "Hi", "stop_reason": "stop"}),
        ("Cohere", {"response_id": "r", "text": "Hi", "generation_id": "g", "finish_reason": "COMPLETE"}),
        ("Anthropic's older models", {"type": "completion", "completion": " Hi", "stop": "\n\nHuman:"}),
        ("AI21", {"id": 1, "completions": [{"data": {"text": "Hi"}}]}),
    ],
)
def test_a_document_of_another_model_family_is_named(family: str, document: Any) -> None:
    outcome = decode_document(json.dumps(document).encode(), API).to_json()
    assert outcome["status"] == "error"
    assert f"the format of {family}," in outcome["error"]["message"]
