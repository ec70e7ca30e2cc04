"""The smallest streams of each api: a text, a tool call, and the text cut before its end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from streamconform.smoke.transcript import Stream

TEXT: Final = "Hello, world"
CALL: Final[Mapping[str, Any]] = {"name": "get_weather", "arguments": {"city": "Paris"}}
Payload = Mapping[str, Any]


def _sse(*payloads: Payload) -> bytes:
    """Return `payloads` as events; those that have a type are named by it."""
    return "".join(
        (f"event: {each['type']}\n" if "type" in each else "") + f"data: {json.dumps(each)}\n\n"
        for each in payloads
    ).encode()


def _anthropic(start: Payload, delta: Payload, stop: str) -> tuple[Payload, ...]:
    message: Payload = {
        "id": "msg_smoke",
        "type": "message",
        "role": "assistant",
        "model": "smoke-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 1},
    }
    ends = {"stop_reason": stop, "stop_sequence": None}
    return (
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ends, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    )


def _chat(delta: Payload, stop: str) -> tuple[Payload, ...]:
    def chunk(delta: Payload, finish: str | None) -> Payload:
        return {
            "id": "chatcmpl-smoke",
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": "smoke-1",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    return (chunk({"role": "assistant", **delta}, None), chunk({}, stop))


def _responses(item: Payload, parts: tuple[Payload, ...], done: Payload) -> tuple[Payload, ...]:
    def response(status: str, output: list[Payload], usage: Payload | None) -> Payload:
        return {
            "id": "resp_smoke",
            "object": "response",
            "created_at": 1700000000,
            "status": status,
            "model": "smoke-1",
            "output": output,
            "error": None,
            "incomplete_details": None,
            "usage": usage,
        }

    usage = {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    }
    frames: tuple[Payload, ...] = (
        {"type": "response.created", "response": response("in_progress", [], None)},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *parts,
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": response("completed", [done], usage)},
    )
    return tuple({**frame, "sequence_number": number} for number, frame in enumerate(frames))


_ARGUMENTS: Final = json.dumps(CALL["arguments"])
_MESSAGE: Final[Payload] = {"id": "msg_smoke", "type": "message", "role": "assistant"}
_PART: Final[Payload] = {"item_id": "msg_smoke", "output_index": 0, "content_index": 0}
_SAID: Final[Payload] = {"type": "output_text", "text": TEXT, "annotations": []}
_FUNCTION: Final[Payload] = {
    "id": "fc_smoke",
    "type": "function_call",
    "call_id": "call_smoke",
    "name": CALL["name"],
}
_PIECE: Final[Payload] = {"item_id": "fc_smoke", "output_index": 0}

FRAMES: Final[Mapping[str, tuple[tuple[Payload, ...], tuple[Payload, ...]]]] = {
    "anthropic-messages": (
        _anthropic({"type": "text", "text": ""}, {"type": "text_delta", "text": TEXT}, "end_turn"),
        _anthropic(
            {"type": "tool_use", "id": "toolu_smoke", "name": CALL["name"], "input": {}},
            {"type": "input_json_delta", "partial_json": _ARGUMENTS},
            "tool_use",
        ),
    ),
    "openai-chat": (
        _chat({"content": TEXT}, "stop"),
        _chat(
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "call_smoke",
                        "type": "function",
                        "function": {"name": CALL["name"], "arguments": _ARGUMENTS},
                    }
                ]
            },
            "tool_calls",
        ),
    ),
    "openai-responses": (
        _responses(
            {**_MESSAGE, "status": "in_progress", "content": []},
            (
                {"type": "response.content_part.added", **_PART, "part": {**_SAID, "text": ""}},
                {"type": "response.output_text.delta", **_PART, "delta": TEXT},
                {"type": "response.output_text.done", **_PART, "text": TEXT},
                {"type": "response.content_part.done", **_PART, "part": _SAID},
            ),
            {**_MESSAGE, "status": "completed", "content": [_SAID]},
        ),
        _responses(
            {**_FUNCTION, "status": "in_progress", "arguments": ""},
            (
                {"type": "response.function_call_arguments.delta", **_PIECE, "delta": _ARGUMENTS},
                {"type": "response.function_call_arguments.done", **_PIECE, "arguments": _ARGUMENTS},
            ),
            {**_FUNCTION, "status": "completed", "arguments": _ARGUMENTS},
        ),
    ),
}
"""For each api the payloads of a text and of a tool call."""

DONE: Final = {"openai-chat": b"data: [DONE]\n\n"}
"""What follows the last payload."""
CUT_AFTER: Final = {"anthropic-messages": 3, "openai-chat": 1, "openai-responses": 4}
"""How many payloads of the text come before the cut: its delta does, its end does not."""


def _streams(api: str) -> tuple[Stream, ...]:
    text, call = FRAMES[api]
    end = DONE.get(api, b"")
    return (
        Stream(name="text", api=api, body=_sse(*text) + end, status="complete", text=TEXT),
        Stream(name="tool-call", api=api, body=_sse(*call) + end, status="complete", call=CALL),
        Stream(name="cut", api=api, body=_sse(*text[: CUT_AFTER[api]]), status="incomplete", text=TEXT),
    )


STREAMS: Final[Mapping[str, tuple[Stream, ...]]] = {api: _streams(api) for api in FRAMES}
"""The streams of each api."""
