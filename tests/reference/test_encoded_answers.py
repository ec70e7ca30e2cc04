"""Encoded answers as a client sees them, frame by frame, with their delays."""

from __future__ import annotations

from typing import Any

import pytest

from streamconform_dev.docs import losses
from streamconform_dev.docs.blocks import describe_outdated
from streamconform_reference.apis import DOCUMENT_WRITERS, ENCODERS
from streamconform_reference.apis.anthropic_messages.encode import AnthropicMessagesEncoder
from streamconform_reference.encoding.encoder import Piece, encode
from streamconform_reference.events import ProseStart, ToolCallDelta, ToolCallEnd, ToolCallStart, UsageUpdate
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.json_text.codec import loads
from streamconform_reference.outcome import Outcome, Usage

from .outcomes import CITATIONS, EXAMPLES, a_call

ANSWER = EXAMPLES["everything at its usual place"]


def payloads(body: bytes) -> list[Any]:
    frames = SseFraming().receive(body)
    return [loads(frame.data) for frame in frames if frame.data != b"[DONE]"]


def written(api: str, outcome: Outcome) -> bytes:
    return encode(ENCODERS, api, outcome)


def test_an_answer_of_anthropic_messages() -> None:
    reported = payloads(written("anthropic-messages", ANSWER))
    start, ping, *blocks, last, stop = reported
    assert start["message"]["usage"] == {"input_tokens": 0, "output_tokens": 0}
    assert (ping, stop) == ({"type": "ping"}, {"type": "message_stop"})
    assert [block.get("content_block") or block.get("delta") or block["type"] for block in blocks] == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "c2ln"},
        "content_block_stop",
        {"type": "text", "text": ""},
        {"type": "text_delta", "text": "Hi"},
        "content_block_stop",
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"x":1}'},
        "content_block_stop",
    ]
    assert last["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
    assert last["usage"] == {"input_tokens": 3, "output_tokens": 5}


def test_an_answer_of_openai_chat() -> None:
    body = written("openai-chat", ANSWER)
    *chunks, usage = payloads(body)
    assert body.endswith(b"data: [DONE]\n\n")
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm"},
        {"content": "Hi"},
        {
            "tool_calls": [
                {"index": 0, "id": "toolu_1", "type": "function", "function": {"name": "f", "arguments": ""}}
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"x":1}'}}]},
        {},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * 5 + ["tool_calls"]
    assert usage["choices"] == []
    assert usage["usage"] == {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}


def test_usage_that_is_known_at_once_is_in_the_start() -> None:
    encoder = AnthropicMessagesEncoder(model="m", response_id="msg_1")
    assert encoder.piece(UsageUpdate(Usage(input=7), None)) == b""
    start, _ = payloads(encoder.opening())
    assert start["message"]["usage"] == {"input_tokens": 7, "output_tokens": 0}


def test_a_second_call_waits_until_the_first_has_ended() -> None:
    encoder = AnthropicMessagesEncoder(model="m", response_id="msg_1")
    began: list[Piece] = [ToolCallStart(0, "a", "f"), ToolCallDelta(0, "{"), ToolCallStart(1, "b", "f")]
    for piece in began:
        encoder.piece(piece)
    assert encoder.piece(ToolCallDelta(1, "{}")) == b""
    reported = payloads(encoder.piece(ToolCallEnd(0, a_call(arguments={}, arguments_text="{}"))))
    assert [each["type"] for each in reported] == [
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
    ]
    assert encoder.piece(ToolCallDelta(1, " ")) != b""


@pytest.mark.parametrize("call_id", ["srvtoolu_1", "mcptoolu_1"])
def test_a_call_that_anthropic_ran_is_not_for_the_client(call_id: str) -> None:
    encoder = AnthropicMessagesEncoder(model="m", response_id="msg_1")
    start, _ = payloads(encoder.piece(ToolCallStart(0, call_id, "web_search", "provider")))
    kind = "mcp_tool_use" if call_id.startswith("mcp") else "server_tool_use"
    assert start["content_block"]["type"] == kind


def test_a_citation_is_in_the_text_that_it_is_for() -> None:
    document = DOCUMENT_WRITERS["anthropic-messages"](
        EXAMPLES["citations of every API"], model="m", response_id="msg_1"
    )
    text = {"type": "text", "text": "Hi", "citations": [CITATIONS["anthropic-messages"]]}
    assert document["content"][0] == text


def test_redacted_thinking_begins_when_it_is_known_to_be() -> None:
    encoder = AnthropicMessagesEncoder(model="m", response_id="msg_1")
    assert encoder.piece(ProseStart(0, "thinking")) == b""
    reported = payloads(written("anthropic-messages", EXAMPLES["redacted thinking"]))
    assert reported[2]["content_block"] == {"type": "redacted_thinking", "data": "ZW5j"}


def test_thinking_without_a_signature_has_an_empty_one() -> None:
    reported = payloads(written("anthropic-messages", EXAMPLES["thinking, unsigned"]))
    assert {"type": "signature_delta", "signature": ""} in [each.get("delta") for each in reported]


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-chat"])
def test_an_answer_that_broke_off_is_an_error_document(api: str) -> None:
    document = DOCUMENT_WRITERS[api](EXAMPLES["broke off"], model="m", response_id="r")
    assert document["error"]["message"] == "the answer broke off"


def test_the_page_has_the_losses_of_today() -> None:
    for page, content in losses.generate().items():
        assert content == page.read_bytes(), describe_outdated("losses")
