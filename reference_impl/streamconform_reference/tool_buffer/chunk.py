"""Pieces of tool calls in one form, read from the payloads of four providers.

Each function takes one payload and returns the pieces in it, none where it has nothing of a call. They
keep nothing between payloads: which call a piece belongs to is for `tool_buffer` to say.

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
    """A piece of a tool call, or of all calls that are open where it names none."""

    id: str | None = None
    """The provider's id of the call."""
    turn_index: int | None = None
    """Which answer of a conversation; None: the one at work."""
    call_index: int | None = None
    """Which call of the answer, as the provider counts."""
    name: str | None = None
    args_text_delta: str | None = None
    """The next fragment of the arguments' JSON text."""
    args_kv_patch: Mapping[str, Any] | None = None
    """Arguments by name, that join or replace those so far."""
    done: bool = False
    """Nothing of the call follows."""
    error: str | None = None
    error_type: str | None = None
    total_calls: int | None = None
    """How many calls the answer has, where the provider says."""
    call_sequence: int | None = None
    """The place of the call among those that run side by side."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    timestamp: float | None = None
    """When the piece came, by the caller's clock."""
    parent_message_id: str | None = None
    reasoning_context: str | None = None
    """The reasoning that led to the call, or its signature."""

    @property
    def failed(self) -> bool:
        """Whether the piece says that the call has failed."""
        return self.error is not None or self.error_type is not None


def from_openai(payload: Payload, *, timestamp: float | None = None) -> tuple[ToolChunk, ...]:
    """Return the pieces in a chunk of Chat Completions; a finish reason ends every call."""
    choice = next((each for each in _objects(payload.get("choices")) if not each.get("index")), {})
    message = _text(payload.get("id"))
    found = []
    for call in _objects(_object(choice.get("delta")).get("tool_calls")):
        function = _object(call.get("function"))
        found.append(
            ToolChunk(
                id=_text(call.get("id")),
                call_index=_count(call.get("index")),
                name=_text(function.get("name")),
                args_text_delta=_text(function.get("arguments")),
                timestamp=timestamp,
                parent_message_id=message,
            )
        )
    reason = _text(choice.get("finish_reason"))
    if reason:
        found.append(ToolChunk(done=True, metadata={"finish_reason": reason}, timestamp=timestamp))
    return tuple(found)


def from_anthropic(payload: Payload, *, timestamp: float | None = None) -> tuple[ToolChunk, ...]:
    """Return the piece in an event of Messages; of a block that is no call only its end."""
    index = _count(payload.get("index"))
    match payload:
        case {"type": "content_block_start", "content_block": {"type": "tool_use"} as block}:
            given = _object(block.get("input"))
            return (
                ToolChunk(
                    id=_text(block.get("id")),
                    call_index=index,
                    name=_text(block.get("name")),
                    args_kv_patch=given or None,
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
            return (_failure(_object(payload.get("error")), timestamp),)
        case _:
            return ()


def from_gemini(payload: Payload, *, timestamp: float | None = None) -> tuple[ToolChunk, ...]:
    """Return the calls in a response of generateContent, each of which is whole."""
    candidate = next((each for each in _objects(payload.get("candidates")) if not each.get("index")), {})
    found = []
    for part in _objects(_object(candidate.get("content")).get("parts")):
        call = part.get("functionCall")
        if not isinstance(call, Mapping):
            continue
        found.append(
            ToolChunk(
                id=_text(call.get("id")),
                name=_text(call.get("name")),
                args_kv_patch=_object(call.get("args")),
                done=True,
                timestamp=timestamp,
                parent_message_id=_text(payload.get("responseId")),
                reasoning_context=_text(part.get("thoughtSignature")),
            )
        )
    return tuple(found)


def from_cohere(payload: Payload, *, timestamp: float | None = None) -> tuple[ToolChunk, ...]:
    """Return the pieces in an event of Chat, version 2 or version 1."""
    index = _count(payload.get("index"))
    call = _object(_object(_object(payload.get("delta")).get("message")).get("tool_calls"))
    function = _object(call.get("function"))
    match payload.get("type") or payload.get("event_type"):
        case "tool-call-start":
            return (
                ToolChunk(
                    id=_text(call.get("id")),
                    call_index=index,
                    name=_text(function.get("name")),
                    args_text_delta=_text(function.get("arguments")),
                    timestamp=timestamp,
                ),
            )
        case "tool-call-delta":
            text = _text(function.get("arguments"))
            return (ToolChunk(call_index=index, args_text_delta=text, timestamp=timestamp),)
        case "tool-call-end":
            return (ToolChunk(call_index=index, done=True, timestamp=timestamp),)
        case "tool-calls-generation":
            calls = _objects(payload.get("tool_calls"))
            return tuple(
                ToolChunk(
                    call_index=number,
                    name=_text(each.get("name")),
                    args_kv_patch=_object(each.get("parameters")),
                    done=True,
                    total_calls=len(calls),
                    call_sequence=number,
                    timestamp=timestamp,
                )
                for number, each in enumerate(calls)
            )
        case _:
            return ()


ADAPTERS: Final[Mapping[str, Callable[..., tuple[ToolChunk, ...]]]] = {
    "openai-chat": from_openai,
    "anthropic-messages": from_anthropic,
    "google-generate": from_gemini,
    "cohere-chat": from_cohere,
}
"""The function that reads the payloads of an api."""


def _failure(error: Payload, timestamp: float | None) -> ToolChunk:
    kind = _text(error.get("type")) or "error"
    return ToolChunk(error=_text(error.get("message")), error_type=kind, timestamp=timestamp)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return value if type(value) is int else None
