"""Gemini's Interactions: steps, statuses, usage, errors and documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamconform_dev.fuzz.exchange import Answer, Case, assert_event_rules, assert_outcome, at, text_block
from streamconform_dev.fuzz.exchange import decode as decode_any
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.document import decode_document

from .google_interactions_streams import (
    CREATED,
    DONE,
    HEAD,
    SEARCH,
    STREAMS,
    USAGE,
    answer,
    calls,
    completed,
    delta,
    says,
    sse,
    start,
    stop,
    thinks,
)

API = "google-interactions"
SEARCH_USAGE = USAGE | {
    "total_tool_use_tokens": 90,
    "grounding_tool_count": [{"type": "google_maps", "count": 4}, {"type": "google_search", "count": 2}],
}


def decode(body: bytes, **fields: Any) -> Answer:
    return decode_any(body, api=API, **fields)


def thought(text: str, signature: str | None = "c2ln") -> dict[str, Any]:
    return {"type": "thinking", "text": text, "signature": signature, "redacted": False}


CASES = [
    Case(
        id="summaries-of-a-thought-are-joined",
        body=STREAMS["thought"],
        expect={"content": [thought("First.\nSecond."), text_block("Yes.")], "stop.reason": "stop"},
    ),
    Case(
        id="the-last-signature-that-is-not-empty-wins",
        body=answer(
            start(0, "thought"),
            *(delta(0, "thought_signature", signature=each) for each in ("", "b2xk", "bmV3", "")),
            stop(0),
        ),
        expect={"content": [thought("", "bmV3")]},
    ),
    Case(
        id="fragments-belong-to-their-index",
        body=answer(
            *(calls(index, "now")[0] for index in (0, 1)),
            delta(0, "arguments_delta", arguments='{"a":'),
            delta(1, "arguments_delta", arguments='{"b":'),
            delta(0, "arguments_delta", arguments="1}"),
            delta(1, "arguments_delta", arguments="2}"),
            stop(0),
            stop(1),
            status="requires_action",
        ),
        expect={
            "content.0.arguments": {"a": 1},
            "content.1.arguments": {"b": 2},
            "content.1.id": "fc_1",
            "stop.reason": "tool_use",
        },
    ),
    Case(
        id="arguments-without-fragments-are-those-of-the-start",
        body=answer(*calls(0, "now", arguments={"a": 1})),
        expect={"content.0.arguments": {"a": 1}, "content.0.arguments_text": None, "stop.reason": "tool_use"},
    ),
    Case(
        id="arguments-may-be-an-object",
        body=answer(
            calls(0, "now")[0],
            {
                "event_type": "step.delta",
                "index": 0,
                "delta": {"type": "arguments_delta", "arguments": {"a": 1}},
            },
            stop(0),
        ),
        expect={"content.0.arguments": {"a": 1}},
    ),
    Case(
        id="a-step-without-index-is-the-last-one",
        body=answer(
            {"event_type": "step.start", "step": {"type": "model_output"}},
            {"event_type": "step.delta", "delta": {"type": "text", "text": "Hi"}},
        ),
        expect={"content": [text_block("Hi")]},
    ),
    Case(
        id="tools-of-google-are-calls-of-the-provider",
        body=STREAMS["search"],
        expect={
            "content.1.name": "google_search",
            "content.1.executor": "provider",
            "content.1.arguments": {"queries": ["tides"]},
            "content.2.kind": "google_search_result",
            "content.2.data.result": [{"search_suggestions": "x"}],
            "stop.reason": "stop",
        },
    ),
    Case(
        id="what-search-retrieved-is-not-input",
        body=answer(*says(0, "Six."), *SEARCH, usage=SEARCH_USAGE),
        expect={"usage.input": 15, "usage.cache_read": 5, "usage.web_searches": 2},
    ),
    Case(
        id="what-other-tools-read-is-input",
        body=answer(*SEARCH, start(3, "code_execution_call", id="x"), stop(3), usage=SEARCH_USAGE),
        expect={"usage.input": 105},
    ),
    Case(
        id="thoughts-are-output",
        body=STREAMS["text"],
        expect={"usage.input": 15, "usage.output": 10, "usage.reasoning": 3},
    ),
    Case(
        id="running-totals-are-replaced",
        body=sse(
            CREATED | {"metadata": {"usage": {"total_input_tokens": 11, "total_thought_tokens": 68}}},
            *says(0, "Hi")[:-1],
            stop(0, usage={"total_output_tokens": 4}, step_usage={"total_output_tokens": 99}),
            completed(),
        ),
        expect={"usage.input": 15, "usage.output": 10, "usage.reasoning": 3},
    ),
    Case(
        id="an-annotation-belongs-to-its-text",
        body=answer(
            *says(0, "Hi")[:-1],
            delta(
                0, "text_annotation_delta", annotations=[{"type": "url_citation", "url": "https://a.example"}]
            ),
            stop(0),
        ),
        expect={
            "content.0.text": "Hi",
            "content.0.citations.0.source": "https://a.example",
            "content.length": 1,
        },
    ),
    Case(
        id="text-after-an-image-is-another-block",
        body=answer(
            start(0, "model_output"),
            delta(0, "text", text="See:"),
            delta(0, "image", mime_type="image/png", data="aQ=="),
            delta(0, "text", text="Nice."),
            stop(0),
        ),
        expect={"content.0.text": "See:", "content.1.kind": "image", "content.2.text": "Nice."},
    ),
    Case(
        id="an-unknown-step-is-kept",
        body=answer(start(0, "future_step", x=1), delta(0, "future_delta", y=2), stop(0)),
        expect={"content.0.kind": "future_step", "content.length": 1, "status": "complete"},
    ),
    Case(
        id="the-request-is-not-repeated",
        body=answer(start(0, "user_input", content=[{"type": "text", "text": "Q"}]), stop(0)),
        expect={"content": []},
    ),
    Case(
        id="steps-that-only-the-end-has",
        body=answer(steps=[{"type": "model_output", "content": [{"type": "text", "text": "Hi"}]}]),
        expect={"content": [text_block("Hi")]},
    ),
    Case(
        id="names-of-the-first-schema",
        body=sse(
            CREATED | {"event_type": "interaction.start"},
            {"event_type": "content.start", "index": 0, "content": {"type": "thought"}},
            {
                "event_type": "content.delta",
                "index": 0,
                "delta": {"type": "thought_signature", "signature": "c2ln"},
            },
            {"event_type": "content.stop", "index": 0},
            {"event_type": "content.start", "index": 1, "content": {"type": "text", "text": "H"}},
            {"event_type": "content.delta", "index": 1, "delta": {"type": "text", "text": "i"}},
            {"event_type": "content.stop", "index": 1},
            completed() | {"event_type": "interaction.complete"},
        ),
        expect={"content": [thought(""), text_block("Hi")], "status": "complete"},
    ),
    Case(
        id="thoughts-of-the-first-schema",
        body=sse(
            CREATED | {"event_type": "interaction.start"},
            {"event_type": "content.start", "index": 0, "content": {"type": "thought"}},
            *(
                {"event_type": "content.delta", "index": 0, "delta": part}
                for part in (
                    {"type": "thought_summary", "content": {"type": "text", "text": "First."}},
                    {"type": "thought_signature", "signature": ""},
                    {"type": "thought_summary", "content": {"type": "text", "text": "Second."}},
                    {"type": "thought_signature", "signature": "c2ln"},
                )
            ),
            {"event_type": "content.stop", "index": 0},
            completed() | {"event_type": "interaction.complete"},
        ),
        expect={"content": [thought("First.Second.")], "status": "complete"},
    ),
    Case(
        id="calls-of-the-first-schema",
        body=sse(
            CREATED | {"event_type": "interaction.start"},
            {"event_type": "content.start", "index": 0, "content": {"type": "function_call"}},
            *(
                {
                    "event_type": "content.delta",
                    "index": index,
                    "delta": {
                        "type": "function_call",
                        "id": f"fc_{index}",
                        "name": "f",
                        "arguments": {"a": 1},
                    },
                }
                for index in (0, 1)
            ),
            {"event_type": "content.stop", "index": 0},
            {"event_type": "content.stop", "index": 1},
            completed("requires_action") | {"event_type": "interaction.complete"},
        ),
        expect={
            "content.0.id": "fc_0",
            "content.0.name": "f",
            "content.0.arguments": {"a": 1},
            "content.1.id": "fc_1",
            "content.1.complete": True,
            "stop.reason": "tool_use",
        },
    ),
    Case(
        id="outputs-that-only-the-end-of-the-first-schema-has",
        body=sse(
            CREATED | {"event_type": "interaction.start"},
            completed(outputs=[{"type": "thought", "signature": "c2ln"}, {"type": "text", "text": "Hi"}])
            | {"event_type": "interaction.complete"},
        ),
        expect={"content": [thought(""), text_block("Hi")], "status": "complete"},
    ),
    Case(
        id="a-failed-interaction-is-an-error",
        body=STREAMS["failed"],
        expect={"status": "error", "error.type": "no_image", "error.message": "No image was made."},
    ),
    Case(
        id="a-failed-step-says-why",
        body=answer(
            start(0, "model_output", error={"code": 13, "message": "It broke."}), stop(0), status="failed"
        ),
        expect={"status": "error", "error.type": "failed", "error.message": "It broke."},
    ),
    Case(
        id="an-error-event",
        body=STREAMS["error"],
        expect={"status": "error", "error.type": "rate_limit_exceeded", "content": [text_block("Half")]},
    ),
    Case(
        id="a-refusal-on-a-line-of-its-own",
        body=sse(CREATED) + b'{"error":{"code":"safety","message":"Blocked."}}\n',
        expect={"status": "error", "error.type": "safety", "error.message": "Blocked."},
    ),
    Case(
        id="done-alone-is-not-the-end",
        body=sse(CREATED, *says(0, "Hi")) + DONE,
        expect={"status": "incomplete", "stop.reason": None},
    ),
    Case(
        id="a-call-without-its-end-is-open-when-the-answer-is-cut",
        body=answer(*calls(0, "now", '{"a":')[:-1], status="incomplete"),
        expect={"content.0.complete": False, "content.0.arguments": None, "stop.reason": "length"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_stream_has_the_expected_outcome(case: Case) -> None:
    assert_outcome(case, "google-interactions")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("completed", "stop"),
        ("requires_action", "tool_use"),
        ("incomplete", "length"),
        ("budget_exceeded", "length"),
        ("requires_continuation", "pause"),
        ("cancelled", "other"),
        ("tired", "other"),
    ],
)
def test_each_status_has_a_reason(status: str, reason: str) -> None:
    found = decode(answer(*says(0, "Hi"), status=status)).outcome
    assert at(found, "stop") == {"reason": reason, "raw": status}


@pytest.mark.parametrize("payload", [start(0, "")["step"], {"type": 1}, {}])
def test_a_step_without_a_type_breaks_the_protocol(payload: dict[str, Any]) -> None:
    body = sse(CREATED, {"event_type": "step.start", "index": 0, "step": payload | {"type": None}})
    assert decode(body).outcome["error"]["type"] == "protocol"


def test_a_document_has_the_outcome_of_its_stream() -> None:
    steps = [
        {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Hm."}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Look."}]},
        {"type": "function_call", "id": "fc_2", "name": "now", "arguments": {"a": 1}},
    ]
    document = HEAD | {"status": "requires_action", "steps": steps, "usage": USAGE}
    stream = answer(
        *thinks(0, "Hm."), *says(1, "Look."), *calls(2, "now", '{"a":1}'), status="requires_action"
    )
    found = decode_document(json.dumps(document).encode(), API).to_json()
    expected = decode(stream, pricing=None).outcome
    expected["content"][2]["arguments_text"] = None
    assert found == expected


def test_a_signature_after_the_end_of_a_call_does_not_change_the_call_that_was_reported() -> None:
    late = decode(
        answer(
            start(0, "google_search_call", id="gs_1", arguments={"queries": ["tides"]}),
            stop(0),
            delta(0, "google_search_call", signature="c2ln"),
        )
    )
    assert_event_rules(late)
    assert late.content[0].get("signature") is None


def test_a_stream_that_ends_with_an_error_is_legal() -> None:
    error = {"event_type": "error", "error": {"code": "api_error", "message": "Oops."}}
    found = GRAMMARS[API].of_body([sse(CREATED, error) + DONE], None)
    assert [each.rule for each in found if each.level == "must"] == []
