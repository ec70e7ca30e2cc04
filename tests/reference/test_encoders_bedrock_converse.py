"""Details of the Bedrock encoder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from streamconform_reference.apis import DOCUMENT_WRITERS, ENCODERS
from streamconform_reference.encoding.encoder import encode
from streamconform_reference.events import ToolCallDelta, ToolCallStart
from streamconform_reference.framing.aws_eventstream import EventStreamFraming
from streamconform_reference.outcome import Citation, Error, Other, Outcome, Stop, Text, Thinking, Usage

from .outcomes import CALLED, CUT, HALF, SIGNED, a_call, whole

API = "bedrock-converse"
CITATION = Citation(
    source="https://x.test", title="X", data={"title": "X", "location": {"web": {"url": "https://x.test"}}}
)
CITED = Text("Hi", citations=(CITATION,))
Message = tuple[dict[str, Any], dict[str, Any]]


def messages(body: bytes) -> list[Message]:
    """Return the headers and the payload of each message."""
    framing = EventStreamFraming()
    frames = framing.receive(body) + framing.end()
    assert framing.fault is None
    return [(dict(frame.headers or {}), json.loads(frame.data)) for frame in frames]


def events(outcome: Outcome) -> list[tuple[str, dict[str, Any]]]:
    return [
        (headers[":event-type"], payload)
        for headers, payload in messages(encode(ENCODERS, API, outcome))
        if headers[":message-type"] == "event"
    ]


def deltas(outcome: Outcome) -> list[tuple[int, dict[str, Any]]]:
    return [
        (payload["contentBlockIndex"], payload["delta"])
        for kind, payload in events(outcome)
        if kind == "contentBlockDelta"
    ]


def failed(*error: Any) -> Message:
    given = whole(Text("Hi"), status="error", stop=Stop("error", None), error=Error(*error))
    return messages(encode(ENCODERS, API, given))[-1]


def test_an_event_has_its_type_and_that_of_its_content() -> None:
    headers, payload = messages(encode(ENCODERS, API, whole(Text("Hi"))))[0]
    assert headers == {
        ":event-type": "messageStart",
        ":content-type": "application/json",
        ":message-type": "event",
    }
    assert payload == {"role": "assistant"}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (("throttlingException", "Slow.", None), "throttlingException"),
        (("rate_limit_error", "Slow.", 429), "throttlingException"),
        (("overloaded_error", "Slow.", 529), "serviceUnavailableException"),
        (("invalid_request_error", "Slow.", 400), "validationException"),
    ],
)
def test_an_error_that_the_api_knows_is_an_exception(error: tuple[Any, ...], kind: str) -> None:
    headers, payload = failed(*error)
    assert headers[":message-type"] == "exception"
    assert headers[":exception-type"] == kind
    assert payload == {"message": "Slow."}


def test_any_other_error_has_its_code_and_message_in_the_headers() -> None:
    headers, _ = failed("server_error", "Oops.", None)
    assert headers[":message-type"] == "error"
    assert (headers[":error-code"], headers[":error-message"]) == ("server_error", "Oops.")


def test_a_message_that_no_header_can_hold_is_in_the_payload() -> None:
    headers, payload = failed("server_error", "x" * 70_000, None)
    assert ":error-message" not in headers
    assert payload == {"message": "x" * 70_000}


def test_usage_follows_the_stop_reason() -> None:
    usage = Usage(input=1, cache_read=2, cache_write=3, cache_write_1h=1, output=7)
    (before, _), (last, payload) = events(whole(Text("Hi"), usage=usage))[-2:]
    assert (before, last) == ("messageStop", "metadata")
    assert payload["usage"] == {
        "inputTokens": 1,
        "cacheReadInputTokens": 2,
        "cacheWriteInputTokens": 3,
        "outputTokens": 7,
        "totalTokens": 13,
        "cacheDetails": [{"ttl": "1h", "inputTokens": 1}, {"ttl": "5m", "inputTokens": 2}],
    }


def test_reasoning_is_flat_in_a_stream_and_its_signature_a_delta() -> None:
    assert deltas(whole(SIGNED)) == [
        (0, {"reasoningContent": {"text": "hm"}}),
        (0, {"reasoningContent": {"signature": "c2ln"}}),
    ]


def test_redacted_reasoning_is_a_block_of_its_own() -> None:
    given = whole(Thinking(text="hm", signature="ZW5j", redacted=True))
    assert deltas(given) == [
        (0, {"reasoningContent": {"text": "hm"}}),
        (1, {"reasoningContent": {"redactedContent": "ZW5j"}}),
    ]


def test_a_citation_is_a_delta_of_its_text() -> None:
    assert deltas(whole(CITED)) == [(0, {"text": "Hi"}), (0, {"citation": CITATION.data})]


def test_a_text_with_citations_is_one_block_of_a_document() -> None:
    document = DOCUMENT_WRITERS[API](
        whole(replace(CITED, citations=(CITATION, CITATION)), Text("Ho")), model="m", response_id="r"
    )
    assert document["output"]["message"]["content"] == [
        {"citationsContent": {"content": [{"text": "Hi"}], "citations": [CITATION.data] * 2}},
        {"text": "Ho"},
    ]


def test_a_tool_that_the_provider_ran_is_marked() -> None:
    starts = [
        payload["start"]["toolUse"].get("type")
        for kind, payload in events(whole(a_call(executor="provider"), a_call(id="toolu_2"), stop=CALLED))
        if kind == "contentBlockStart"
    ]
    assert starts == ["server_tool_use", None]


def test_a_result_is_a_start_and_a_delta() -> None:
    result = {"toolUseId": "t", "status": "success", "content": [{"text": "1"}]}
    written_events = events(whole(Other("tool_result", result)))[1:4]
    assert written_events == [
        (
            "contentBlockStart",
            {"contentBlockIndex": 0, "start": {"toolResult": {"toolUseId": "t", "status": "success"}}},
        ),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolResult": [{"text": "1"}]}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
    ]


def test_the_fragments_of_a_call_are_written_when_they_come() -> None:
    encoder = ENCODERS[API](model="m", response_id="r")
    encoder.opening()
    (_, start), (_, first) = messages(encoder.piece(ToolCallStart(0, "toolu_1", "f")))
    assert start["start"] == {"toolUse": {"toolUseId": "toolu_1", "name": "f"}}
    assert first["delta"] == {"toolUse": {"input": ""}}
    ((_, second),) = messages(encoder.piece(ToolCallDelta(0, '{"x"')))
    assert second["delta"] == {"toolUse": {"input": '{"x"'}}


def test_a_cut_call_that_looks_complete_becomes_invalid() -> None:
    fragments = [delta["toolUse"]["input"] for _, delta in deltas(whole(a_call(**HALF), stop=CUT))]
    assert "".join(fragments) == '{"x":1}{'
