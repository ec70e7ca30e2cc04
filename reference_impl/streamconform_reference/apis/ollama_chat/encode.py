"""Encode events as an Ollama chat stream, and an outcome as a single record.

Source: https://docs.ollama.com/api/chat and the types in
https://github.com/ollama/ollama/blob/main/api/types.go

- Every record contains the model and text, possibly empty. The first record contains nothing else, so that a
  client knows the model from the start. Such a record also keeps an idle stream alive, because some clients
  fail on blank lines.
- A call is written when it ends, because its arguments are an object; calls are therefore written in the
  order in which they end.
- Durations are omitted, because they are not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from streamconform_reference.encoding.encoder import Piece, apply_losses
from streamconform_reference.events import Done, Failed, ProseDelta, ToolCallEnd, UsageUpdate
from streamconform_reference.framing.write import ndjson
from streamconform_reference.outcome import (
    Error,
    Json,
    Outcome,
    ProseKind,
    Stop,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from .losses import LOSSES, choose_stop_reason, encode_error, encode_usage, is_whole

__all__ = ["LOSSES", "OllamaChatEncoder", "write_document"]

_API: Final = "ollama-chat"
_FIELDS: Final[Mapping[ProseKind, str]] = {"text": "content", "refusal": "content", "thinking": "thinking"}


class OllamaChatEncoder:
    """Writes one response of `POST /api/chat`."""

    def __init__(self, *, model: str, response_id: str, framing: str | None = None, created: int = 0) -> None:
        """Start an answer; the API has only one framing, and its answers contain no id."""
        del response_id, framing
        self._head = _head(model, created)
        self._calls = 0
        self._usage: Usage | None = None
        self._ended = False

    def opening(self) -> bytes:
        """Return a record without text."""
        return self._record({})

    def ping(self) -> bytes:
        """Return a record without text."""
        return self._record({})

    def piece(self, piece: Piece) -> bytes:
        """Return the bytes to write for the next piece."""
        if self._ended:
            return b""
        match piece:
            case ProseDelta():
                return self._record({_FIELDS[piece.kind]: piece.delta})
            case ToolCallEnd(_, call) if call.executor == "client" and is_whole(call):
                self._calls += 1
                return self._record({"tool_calls": [_call(self._calls - 1, call)]})
            case UsageUpdate():
                self._usage = piece.usage
            case Done():
                self._ended = True
                return self._record({}, **_end(piece.stop, self._usage))
            case Failed():
                self._ended = True
                return ndjson(_error(piece.error)) if piece.status == "error" else b""
            case _:
                pass  # a start or an end, which needs no record, or content that the API cannot express
        return b""

    def _record(self, fields: Json, **end: Any) -> bytes:
        return ndjson({**self._head, "message": _message(fields), **(end or {"done": False})})


def write_document(outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
    """Return the answer as a single record, or an error if it is not complete."""
    del response_id
    expressed = apply_losses({_API: LOSSES}, _API, outcome, form="document")
    if expressed.status != "complete":
        return _error(expressed.error)
    fields: Json = {}
    for block in expressed.content:
        match block:
            case ToolCall():
                calls = fields.setdefault("tool_calls", [])
                calls.append(_call(len(calls), block))
            case Thinking(text=text):
                fields["thinking"] = text
            case Text(text=text):
                fields["content"] = text
            case _:
                pass  # `LOSSES` removes all other blocks
    return {**_head(model, created), "message": _message(fields), **_end(expressed.stop, expressed.usage)}


def _head(model: str, created: int) -> Json:
    return {"model": model, "created_at": datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


def _message(fields: Json) -> Json:
    return {"role": "assistant", "content": "", **fields}


def _call(index: int, call: ToolCall) -> Json:
    return {"id": call.id, "function": {"index": index, "name": call.name, "arguments": call.arguments}}


def _end(stop: Stop, reported: Usage | None) -> Json:
    """Return the last record's fields, without unknown counts."""
    usage = encode_usage(reported) or Usage()
    counts = {
        "prompt_eval_count": None if usage.input is None else usage.input + (usage.cache_read or 0),
        "prompt_eval_cached_count": usage.cache_read,
        "eval_count": usage.output,
    }
    known = {name: count for name, count in counts.items() if count is not None}
    return {"done": True, "done_reason": choose_stop_reason(stop), **known}


def _error(error: Error | None) -> Json:
    return {"error": encode_error(error or Error(None, None, None)).message}
