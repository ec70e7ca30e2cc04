"""Streams for measurements: for each API, a long text or the arguments of one call, in many small deltas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from streamconform_dev.bench import other_streams as other
from streamconform_dev.bench.frames import invoke_chunk, sse

Kind = Literal["text", "tool call"]
Frames = Iterator[bytes]

WORDS: Final = "It is 21 °C in Paris, a little cloudy; the wind comes from the “west”. "
"""Text like that of models: mostly ASCII, with some characters of two and three bytes."""


@dataclass(frozen=True, slots=True)
class Api:
    """How an API streams: the frames of a text, and those of one call, in the given pieces."""

    text: Callable[[Iterable[str]], Frames]
    call: Callable[[Iterable[str]], Frames]
    whole_calls: bool = False
    """Whether the API sends a call in one payload, so that there is only one piece."""


def deltas_of_text(count: int, size: int) -> list[str]:
    """Return `count` pieces of text of `size` characters."""
    endless = WORDS * (size // len(WORDS) + 2)
    starts = (number * size % len(WORDS) for number in range(count))
    return [endless[start : start + size] for start in starts]


def deltas_of_call(count: int, size: int) -> list[str]:
    """Return one JSON object in `count` pieces of `size` characters, as long as the object needs."""
    line = json.dumps('print("21 °C")\n', ensure_ascii=False)[1:-1]
    head, tail = '{"content":"', '"}'
    room = count * size - len(head) - len(tail)
    whole = head + line * (room // len(line)) + "x" * (room % len(line)) + tail
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def _typed(payload: Mapping[str, Any]) -> bytes:
    return sse(payload, payload["type"])


def _anthropic(
    block: Mapping[str, Any], deltas: Iterable[Mapping[str, Any]], reason: str
) -> Iterator[Mapping[str, Any]]:
    usage = {"input_tokens": 25, "output_tokens": 1}
    head = {"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    yield {"type": "message_start", "message": head | {"content": [], "usage": usage}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


def anthropic_text(pieces: Iterable[str], write: Callable[[Mapping[str, Any]], bytes] = _typed) -> Frames:
    """Yield the frames of a text."""
    deltas = ({"type": "text_delta", "text": piece} for piece in pieces)
    return map(write, _anthropic({"type": "text", "text": ""}, deltas, "end_turn"))


def anthropic_call(pieces: Iterable[str], write: Callable[[Mapping[str, Any]], bytes] = _typed) -> Frames:
    """Yield the frames of a call."""
    block = {"type": "tool_use", "id": "toolu_01", "name": "write_file", "input": {}}
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return map(write, _anthropic(block, deltas, "tool_use"))


def _chat(deltas: Iterable[Mapping[str, Any]], reason: str) -> Frames:
    head = {"id": "chatcmpl-01", "object": "chat.completion.chunk", "created": 1_760_000_000}
    head |= {"model": "gpt-5-mini", "service_tier": "default", "system_fingerprint": None}
    for delta in ({"role": "assistant", "content": ""}, *deltas):
        yield sse(head | {"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}]})
    yield sse(head | {"choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": reason}]})
    yield sse(head | {"choices": [], "usage": {"prompt_tokens": 25, "completion_tokens": 9}})
    yield b"data: [DONE]\n\n"


def chat_text(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a text."""
    return _chat(({"content": piece} for piece in pieces), "stop")


def chat_call(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a call."""
    begin = {"index": 0, "id": "call_01", "type": "function"}
    start = {"tool_calls": [begin | {"function": {"name": "write_file", "arguments": ""}}]}
    rest = ({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces)
    return _chat((start, *rest), "tool_calls")


def _responses(
    item: Mapping[str, Any], inside: Iterable[Mapping[str, Any]], done: Mapping[str, Any]
) -> Frames:
    head = {"id": "resp_01", "object": "response", "model": "gpt-5-mini"}
    usage = {"input_tokens": 25, "output_tokens": 9, "total_tokens": 34}
    events: tuple[Mapping[str, Any], ...] = (
        {"type": "response.created", "response": head | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *inside,
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, **done}},
        {
            "type": "response.completed",
            "response": head | {"status": "completed", "output": [{**item, **done}], "usage": usage},
        },
    )
    for number, event in enumerate(events):
        yield _typed({"type": event["type"], "sequence_number": number, **event})


def responses_text(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a text."""
    pieces = list(pieces)
    place = {"item_id": "msg_01", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "annotations": [], "text": "".join(pieces)}
    inside = (
        {"type": "response.content_part.added", **place, "part": part | {"text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": piece} for piece in pieces),
        {"type": "response.output_text.done", **place, "text": part["text"]},
        {"type": "response.content_part.done", **place, "part": part},
    )
    item = {"id": "msg_01", "type": "message", "role": "assistant", "content": []}
    return _responses(item, inside, {"content": [part]})


def responses_call(pieces: Iterable[str]) -> Frames:
    """Yield the frames of a call."""
    pieces = list(pieces)
    place = {"item_id": "fc_01", "output_index": 0}
    whole = {"arguments": "".join(pieces)}
    inside = (
        *({"type": "response.function_call_arguments.delta", **place, "delta": piece} for piece in pieces),
        {"type": "response.function_call_arguments.done", **place, **whole},
    )
    item = {
        "id": "fc_01",
        "type": "function_call",
        "call_id": "call_01",
        "name": "write_file",
        "arguments": "",
    }
    return _responses(item, inside, whole)


APIS: Final[Mapping[str, Api]] = {
    "anthropic-messages": Api(anthropic_text, anthropic_call),
    "openai-chat": Api(chat_text, chat_call),
    "openai-responses": Api(responses_text, responses_call),
    "google-generate": Api(other.google_text, other.google_call, whole_calls=True),
    "google-interactions": Api(other.interaction_text, other.interaction_call),
    "ollama-chat": Api(other.ollama_text, other.ollama_call, whole_calls=True),
    "cohere-chat": Api(other.cohere_text, other.cohere_call),
    "bedrock-converse": Api(other.bedrock_text, other.bedrock_call),
    "bedrock-invoke": Api(
        partial(anthropic_text, write=invoke_chunk), partial(anthropic_call, write=invoke_chunk)
    ),
}
"""A row for each api."""


def stream(api: str, kind: Kind, *, deltas: int, size: int) -> list[bytes]:
    """Return the frames of an answer of `api` with `deltas` pieces of `size` characters."""
    row = APIS[api]
    made = (
        row.text(deltas_of_text(deltas, size)) if kind == "text" else row.call(deltas_of_call(deltas, size))
    )
    return list(made)


def _whole(frames: list[bytes]) -> list[bytes]:
    return [b"".join(frames)]


def _in_reads(frames: list[bytes]) -> list[bytes]:
    body = b"".join(frames)
    return [body[start : start + 1024] for start in range(0, len(body), 1024)]


CHUNKINGS: Final[Mapping[str, Callable[[list[bytes]], list[bytes]]]] = {
    "whole": _whole,
    "frame by frame": list,
    "1 KiB": _in_reads,
}
"""Ways to deliver the frames of a body."""
