"""Streams for measurements, for the APIs other than Anthropic's and OpenAI's, in their three framings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamconform_dev.bench.frames import line, message, sse

Frames = Iterator[bytes]

_TIME: Final = "2026-01-01T00:00:00.000000Z"


def _google(parts: Iterable[Mapping[str, Any]]) -> Frames:
    head = {"modelVersion": "gemini-2.5-flash", "responseId": "resp01"}
    end = {"text": ""}
    for written, part in enumerate((*parts, end)):
        usage = {"promptTokenCount": 25, "candidatesTokenCount": written, "totalTokenCount": 25 + written}
        candidate = {"content": {"parts": [part], "role": "model"}, "index": 0}
        reason = {"finishReason": "STOP"} if part is end else {}
        yield sse({"candidates": [candidate | reason], "usageMetadata": usage} | head)


def google_text(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a text."""
    return _google({"text": piece} for piece in pieces)


def google_call(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a call, which is complete, because only Vertex AI can stream arguments."""
    return _google([{"functionCall": {"name": "write_file", "args": json.loads("".join(pieces))}}])


def _ollama(messages: Iterable[Mapping[str, Any]]) -> Frames:
    head = {"model": "qwen3:8b", "created_at": _TIME}
    for said in messages:
        yield line(head | {"message": {"role": "assistant", **said}, "done": False})
    counts = {"total_duration": 1, "prompt_eval_count": 25, "eval_count": 9}
    last = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    yield line(head | last | counts)


def ollama_text(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a text."""
    return _ollama({"content": piece} for piece in pieces)


def ollama_call(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a call, which is complete."""
    function = {"index": 0, "name": "write_file", "arguments": json.loads("".join(pieces))}
    return _ollama([{"content": "", "tool_calls": [{"id": "call_01", "function": function}]}])


def _cohere(inside: Iterable[Mapping[str, Any]], reason: str) -> Frames:
    usage = {"billed_units": {"input_tokens": 25, "output_tokens": 9}}
    begin = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    events = (
        {"id": "resp-01", "type": "message-start", "delta": {"message": begin}},
        *inside,
        {"type": "message-end", "delta": {"finish_reason": reason, "usage": usage}},
    )
    for event in events:
        yield sse(event, event["type"])


def cohere_text(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a text."""
    begin = _cohere_delta("content-start", content={"type": "text", "text": ""})
    deltas = (_cohere_delta("content-delta", content={"text": piece}) for piece in pieces)
    return _cohere((begin, *deltas, {"type": "content-end", "index": 0}), "COMPLETE")


def cohere_call(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a call."""
    function = {"name": "write_file", "arguments": ""}
    call = {"id": "write_file_01", "type": "function", "function": function}
    begin = _cohere_delta("tool-call-start", tool_calls=call)
    deltas = (
        _cohere_delta("tool-call-delta", tool_calls={"function": {"arguments": piece}}) for piece in pieces
    )
    return _cohere((begin, *deltas, {"type": "tool-call-end", "index": 0}), "TOOL_CALL")


def _cohere_delta(kind: str, **said: Any) -> dict[str, Any]:
    return {"type": kind, "index": 0, "delta": {"message": said}}


def _bedrock(inside: Iterable[tuple[str, Mapping[str, Any]]], reason: str) -> Frames:
    usage = {"inputTokens": 25, "outputTokens": 9, "totalTokens": 34}
    yield message({"p": "abcdefgh", "role": "assistant"}, "messageStart")
    for event, said in inside:
        yield message({"contentBlockIndex": 0, **said, "p": "abcdefgh"}, event)
    yield message({"contentBlockIndex": 0, "p": "abcdefgh"}, "contentBlockStop")
    yield message({"p": "abcdefgh", "stopReason": reason}, "messageStop")
    yield message({"metrics": {"latencyMs": 551}, "p": "abcdefgh", "usage": usage}, "metadata")


def bedrock_text(pieces: Iterable[str]) -> Frames:
    """Yield the messages of a text."""
    return _bedrock((("contentBlockDelta", {"delta": {"text": piece}}) for piece in pieces), "end_turn")


def bedrock_call(pieces: Iterable[str]) -> Frames:
    """Yield the messages of a call."""
    begin = {"start": {"toolUse": {"name": "write_file", "toolUseId": "tooluse_01"}}}
    deltas = (("contentBlockDelta", {"delta": {"toolUse": {"input": piece}}}) for piece in pieces)
    return _bedrock((("contentBlockStart", begin), *deltas), "tool_use")


def _interaction(step: Mapping[str, Any], deltas: Iterable[Mapping[str, Any]], status: str) -> Frames:
    head = {"id": "v1_01", "object": "interaction", "model": "gemini-3-flash-preview"}
    usage = {"total_input_tokens": 25, "total_output_tokens": 9, "total_tokens": 34}
    events: tuple[dict[str, Any], ...] = (
        {"event_type": "interaction.created", "interaction": head | {"status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": step},
        *({"event_type": "step.delta", "index": 0, "delta": delta} for delta in deltas),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": head | {"status": status, "usage": usage}},
    )
    for event in events:
        yield sse(event, event["event_type"])
    yield b"event: done\ndata: [DONE]\n\n"


def interaction_text(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a text."""
    deltas = ({"type": "text", "text": piece} for piece in pieces)
    return _interaction({"type": "model_output"}, deltas, "completed")


def interaction_call(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a call."""
    begin = {"type": "function_call", "id": "call_01", "name": "write_file", "arguments": {}}
    deltas = ({"type": "arguments_delta", "arguments": piece} for piece in pieces)
    return _interaction(begin, deltas, "requires_action")
