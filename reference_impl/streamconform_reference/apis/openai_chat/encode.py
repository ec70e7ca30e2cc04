"""Encode events as an OpenAI Chat Completions stream, and an outcome as a single document.

Source: https://platform.openai.com/docs/api-reference/chat-streaming and
https://platform.openai.com/docs/api-reference/chat/object

- The first chunk contains the role. A call's first fragment contains its id, type and name, but no arguments.
- There are no blocks, so pieces are written immediately. Calls that the provider ran are omitted, because a
  client would run them. A call that must not run but can be parsed is made unparseable at the end
  (`arguments_text`).
- Citations are in one chunk before the finish reason, as OpenAI sends them, because clients join the lists in
  deltas by an index, which citations lack.
- The usage is in a separate chunk after the finish reason, for clients that request it; for others, the
  encoder's caller drops the usage events.
- Nothing follows an error, not even `[DONE]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.encoding.arguments_text import compute_cut_ending, compute_ending
from streamconform_reference.encoding.encoder import Piece, PlacedCitation, apply_losses
from streamconform_reference.events import (
    Done,
    Failed,
    ProseDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from streamconform_reference.framing.write import SSE_COMMENT, SSE_DONE, sse
from streamconform_reference.outcome import (
    Error,
    Json,
    Other,
    Outcome,
    ProseKind,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from .losses import LOSSES, choose_stop_reason, encode_error, encode_usage, is_own_citation
from .reasons import TRUNCATING

__all__ = ["LOSSES", "OpenaiChatEncoder", "write_document"]

_API: Final = "openai-chat"
_FIELDS: Final[Mapping[ProseKind, str]] = {
    "text": "content",
    "refusal": "refusal",
    "thinking": "reasoning_content",
}


class _Call:
    """A written call: its index, and its fragments until it ends."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.fragments: list[str] = []
        self.ended = False
        self.signed = False


class OpenaiChatEncoder:
    """Writes one response of `POST /v1/chat/completions` with `"stream": true`."""

    def __init__(self, *, model: str, response_id: str, created: int = 0) -> None:
        """Start an answer."""
        self._head = _head(model, response_id, created, "chat.completion.chunk")
        self._calls: dict[int, _Call] = {}
        self._citations: list[Any] = []
        self._refused = False
        self._usage: Usage | None = None
        self._ended = False

    def opening(self) -> bytes:
        """Return the chunk with the role."""
        return self._delta({"role": "assistant", "content": ""})

    def ping(self) -> bytes:
        """Return a comment: the API has no chunk without content."""
        return SSE_COMMENT

    def piece(self, piece: Piece) -> bytes:
        """Return the bytes to write for the next piece."""
        if self._ended:
            return b""
        match piece:
            case ProseDelta():
                self._refused = self._refused or piece.kind == "refusal"
                return self._delta({_FIELDS[piece.kind]: piece.delta})
            case ToolCallStart() if piece.executor == "client":
                call = self._calls[piece.content_index] = _Call(len(self._calls))
                function = {"name": piece.name, "arguments": ""}
                call.signed = bool(piece.signature)
                signed = _build_extensions(piece.signature)
                return self._fragment(call, function, id=piece.id, type="function", **signed)
            case ToolCallDelta():
                return self._arguments(self._calls.get(piece.content_index), piece.delta)
            case ToolCallEnd():
                return self._end_call(self._calls.get(piece.content_index), piece.tool_call)
            case PlacedCitation() if is_own_citation(piece.citation):
                self._citations.append(piece.citation.data)
            case UsageUpdate():
                self._usage = piece.usage
            case Done():
                self._ended = True
                return b"".join(self._finish(piece))
            case Failed():
                self._ended = True
                error = sse({"error": _error(piece.error)}) if piece.status == "error" else b""
                return self._write_citations() + error
            case _:
                pass  # a start or an end, which needs no chunk, or content that the API cannot express
        return b""

    def _finish(self, last: Done) -> Iterator[bytes]:
        reason = choose_stop_reason(last.stop, called=bool(self._calls), refused=self._refused)
        for place, call in enumerate(self._calls.values(), start=1):
            text = "".join(call.fragments)
            cut_off = reason in TRUNCATING and place == len(self._calls) and not text.strip()
            if not (call.ended or cut_off):
                yield self._arguments(call, compute_cut_ending(text))
        yield self._write_citations()
        yield self._delta({}, reason)
        if self._usage is not None:
            yield sse({**self._head, "choices": [], "usage": _usage(self._usage)})
        yield SSE_DONE

    def _end_call(self, call: _Call | None, value: ToolCall) -> bytes:
        if call is None:
            return b""
        call.ended = True
        written = self._arguments(call, compute_ending(value))
        if value.signature and not call.signed:
            signed = {"index": call.index, **_build_extensions(value.signature)}
            written += self._delta({"tool_calls": [signed]})
        return written

    def _arguments(self, call: _Call | None, text: str) -> bytes:
        if call is None or not text:
            return b""
        call.fragments.append(text)
        return self._fragment(call, {"arguments": text})

    def _write_citations(self) -> bytes:
        return self._delta({"annotations": self._citations}) if self._citations else b""

    def _fragment(self, call: _Call, function: Json, **fields: Any) -> bytes:
        return self._delta({"tool_calls": [{"index": call.index, **fields, "function": function}]})

    def _delta(self, delta: Json, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return sse({**self._head, "choices": [choice]})


def write_document(outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
    """Return the answer as a single document, or as an error document if it is not complete."""
    expressed = apply_losses({_API: LOSSES}, _API, outcome, form="document")
    if expressed.status != "complete":
        return {"error": _error(expressed.error)}
    message: Json = {"role": "assistant", "content": None, "refusal": None}
    for block in expressed.content:
        match block:
            case Thinking(text=text):
                message["reasoning_content"] = text
            case Text(text=text):
                message["content"] = text
                if block.citations:
                    message["annotations"] = [citation.data for citation in block.citations]
            case Refusal(text):
                message["refusal"] = text
            case ToolCall():
                function = {"name": block.name, "arguments": block.arguments_text}
                signed = _build_extensions(block.signature)
                call = {"id": block.id, "type": "function", "function": function, **signed}
                message.setdefault("tool_calls", []).append(call)
            case Other():
                pass  # `LOSSES` removes these blocks
    document = {
        **_head(model, response_id, created, "chat.completion"),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": expressed.stop.raw}],
    }
    return document if expressed.usage is None else {**document, "usage": _usage(expressed.usage)}


def _head(model: str, response_id: str, created: int, kind: str) -> Json:
    return {"id": response_id, "object": kind, "created": created, "model": model}


def _build_extensions(signature: str | None) -> Json:
    """Return the field with Gemini's signature for a call; nothing if it has no signature."""
    return {"extra_content": {"google": {"thought_signature": signature}}} if signature else {}


def _usage(usage: Usage) -> Json:
    usage = encode_usage(usage) or Usage()
    prompt = sum(count or 0 for count in (usage.input, usage.cache_read, usage.cache_write))
    completion = usage.output or 0
    counts: Json = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    cached = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
    for key, details in (
        ("prompt_tokens_details", cached),
        ("completion_tokens_details", {"reasoning_tokens": usage.reasoning}),
    ):
        known = {name: count for name, count in details.items() if count is not None}
        if known:
            counts[key] = known
    return counts


def _error(error: Error | None) -> Json:
    encoded = encode_error(error or Error(None, None, None))
    return {"message": encoded.message, "type": encoded.type, "param": None, "code": None}
