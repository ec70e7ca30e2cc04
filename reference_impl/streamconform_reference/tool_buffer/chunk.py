"""Tool-call chunks in a common form, read from four providers' payloads.

Each function takes one payload and returns its chunks, or none if it contains no part of a call. The
functions keep no state; `buffer` decides which call a chunk belongs to.

Sources: https://platform.openai.com/docs/api-reference/chat-streaming,
https://docs.claude.com/en/docs/build-with-claude/streaming,
https://ai.google.dev/gemini-api/docs/function-calling,
https://docs.cohere.com/v2/docs/streaming and, for `event_type`, https://docs.cohere.com/v1/docs/streaming.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChunk:
    """A part of a tool call; without a name, id or index, it applies to all open calls in its turn."""

    id: str | None = None
    """The provider's id for the call."""
    turn_index: int | None = None
    """The answer's number within the conversation; None means the current answer."""
    call_index: int | None = None
    """The provider's index for the call within its answer."""
    name: str | None = None
    args_text_delta: str | None = None
    """The next fragment of the arguments' JSON text."""
    args_kv_patch: Mapping[str, Any] | None = None
    """Arguments by name, which are added to earlier ones or replace them."""
    done: bool = False
    """Whether this is the last part of the call."""
    error: str | None = None
    error_type: str | None = None
    total_calls: int | None = None
    """The number of calls in the answer, if the provider reports it."""
    call_sequence: int | None = None
    """The position of the call among parallel calls."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    timestamp: float | None = None
    """The arrival time, according to the caller's clock."""
    parent_message_id: str | None = None
    reasoning_context: str | None = None
    """The reasoning before the call, or the signature of that reasoning."""

    @property
    def failed(self) -> bool:
        """Whether the chunk reports that the call has failed."""
        return self.error is not None or self.error_type is not None


def from_openai(payload: Payload, *, timestamp: float | None = None) -> tuple[ToolChunk, ...]:
    """Return the call parts in a Chat Completions chunk; a finish reason ends every call."""
    choice = next((item for item in _read_objects(payload.get("choices")) if not item.get("index")), {})
    message = _read_text(payload.get("id"))
    chunks = []
    for call in _read_objects(_read_object(choice.get("delta")).get("tool_calls")):
        function = _read_object(call.get("function"))
        chunks.append(
            ToolChunk(
                id=_read_text(call.get("id")),
                call_index=_read_index(call.get("index")),
                name=_read_text(function.get("name")),
                args_text_delta=_read_text(function.get("arguments")),
                timestamp=timestamp,
                parent_message_id=message,
            )
        )
    reason = _read_text(choice.get("finish_reason"))
    if reason:
        chunks.append(ToolChunk(done=True, metadata={"finish_reason": reason}, timestamp=timestamp))
    return tuple(chunks)


def from_anthropic(payload: Payload, *, timestamp: float | None = None) -> tuple[ToolChunk, ...]:
    """Return the call part in a Messages event; other blocks yield only their end."""
    index = _read_index(payload.get("index"))
    match payload:
        case {"type": "content_block_start", "content_block": {"type": "tool_use"} as block}:
            initial_input = _read_object(block.get("input"))
            return (
                ToolChunk(
                    id=_read_text(block.get("id")),
                    call_index=index,
                    name=_read_text(block.get("name")),
                    args_kv_patch=initial_input or None,
                    timestamp=timestamp,
                ),
            )
        case {
            "type": "content_block_delta",
            "delta": {"type": "input_json_delta", "partial_json": str(text)},
        }:
            return (ToolChunk(call_index=index, args_text_delta=text, timestamp=timestamp),)
        case {"type": "content_block_stop"}:
            return (ToolChunk(call_index=index, done=True, timestamp=timestamp),)
        case {"type": "error"}:
            return (_to_failure(_read_object(payload.get("error")), timestamp),)
        case _:
            return ()


def from_gemini(payload: Payload, *, timestamp: float | None = None) -> tuple[ToolChunk, ...]:
    """Return the calls in a generateContent response, which are always complete."""
    candidate = next((item for item in _read_objects(payload.get("candidates")) if not item.get("index")), {})
    chunks = []
    for part in _read_objects(_read_object(candidate.get("content")).get("parts")):
        call = part.get("functionCall")
        if not isinstance(call, Mapping):
            continue
        chunks.append(
            ToolChunk(
                id=_read_text(call.get("id")),
                name=_read_text(call.get("name")),
                args_kv_patch=_read_object(call.get("args")),
                done=True,
                timestamp=timestamp,
                parent_message_id=_read_text(payload.get("responseId")),
                reasoning_context=_read_text(part.get("thoughtSignature")),
            )
        )
    return tuple(chunks)


def from_cohere(payload: Payload, *, timestamp: float | None = None) -> tuple[ToolChunk, ...]:
    """Return the call parts in a Cohere Chat event, version 2 or 1."""
    index = _read_index(payload.get("index"))
    call = _read_object(_read_object(_read_object(payload.get("delta")).get("message")).get("tool_calls"))
    function = _read_object(call.get("function"))
    match payload.get("type") or payload.get("event_type"):
        case "tool-call-start":
            return (
                ToolChunk(
                    id=_read_text(call.get("id")),
                    call_index=index,
                    name=_read_text(function.get("name")),
                    args_text_delta=_read_text(function.get("arguments")),
                    timestamp=timestamp,
                ),
            )
        case "tool-call-delta":
            text = _read_text(function.get("arguments"))
            return (ToolChunk(call_index=index, args_text_delta=text, timestamp=timestamp),)
        case "tool-call-end":
            return (ToolChunk(call_index=index, done=True, timestamp=timestamp),)
        case "tool-calls-generation":
            calls = _read_objects(payload.get("tool_calls"))
            return tuple(
                ToolChunk(
                    call_index=number,
                    name=_read_text(item.get("name")),
                    args_kv_patch=_read_object(item.get("parameters")),
                    done=True,
                    total_calls=len(calls),
                    call_sequence=number,
                    timestamp=timestamp,
                )
                for number, item in enumerate(calls)
            )
        case _:
            return ()


ADAPTERS: Final[Mapping[str, Callable[..., tuple[ToolChunk, ...]]]] = {
    "openai-chat": from_openai,
    "anthropic-messages": from_anthropic,
    "google-generate": from_gemini,
    "cohere-chat": from_cohere,
}
"""The function that reads each API's payloads."""


def _to_failure(error: Payload, timestamp: float | None) -> ToolChunk:
    kind = _read_text(error.get("type")) or "error"
    return ToolChunk(error=_read_text(error.get("message")), error_type=kind, timestamp=timestamp)


def _read_object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _read_objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _read_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _read_index(value: Any) -> int | None:
    return value if type(value) is int else None
