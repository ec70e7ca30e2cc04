"""Encode events as an Anthropic Messages stream, and an outcome as a single document.

Source: https://docs.claude.com/en/docs/build-with-claude/streaming and https://docs.claude.com/en/api/messages

- Only one block is open at a time: the pieces of other blocks wait until it ends. A text or thinking block
  starts with its first piece, so that no block is empty. Redacted thinking, which is only known at its end,
  is a separate block with its own type. Every other thinking block has one signature, possibly empty.
- The first fragment of a call is empty, as in the API itself. Its arguments follow as text, never in its
  start event, where most clients do not read them. An open call that has to end is made unparseable (see
  `arguments_text`).
- `usage` is in `message_delta`; the counts in `message_start` are placeholders. `message_delta` has no
  documented field for one-hour cache writes, so they are written at the path that they have in
  `message_start`, where clients look for them.
- An MCP call has an empty server name, because an outcome does not contain the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.encoding.arguments_text import compute_cut_ending, compute_ending
from streamconform_reference.encoding.block_sequencer import BlockSequencer
from streamconform_reference.encoding.encoder import Piece, PlacedBlock, PlacedCitation, apply_losses
from streamconform_reference.events import (
    Done,
    Failed,
    ProseDelta,
    ProseStart,
    TextEnd,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from streamconform_reference.framing.write import sse
from streamconform_reference.outcome import (
    Block,
    Error,
    Executor,
    Json,
    Other,
    Outcome,
    ProseKind,
    Stop,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from .decode import USAGE_FIELDS
from .losses import LOSSES, choose_stop_reason, encode_error, encode_usage, is_own_block, is_own_citation

__all__ = ["LOSSES", "AnthropicMessagesEncoder", "write_document"]

_API: Final = "anthropic-messages"
_PROSE: Final[Mapping[ProseKind, tuple[Json, str, str]]] = {
    "text": ({"type": "text", "text": ""}, "text_delta", "text"),
    "refusal": ({"type": "text", "text": ""}, "text_delta", "text"),
    "thinking": ({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking"),
}
"""For each kind of prose, the start of its block, the type of its deltas, and the deltas' field."""
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_MCP_ID: Final = "mcptoolu_"
_NO_STOP: Final[Json] = {"stop_reason": None, "stop_sequence": None}


class AnthropicMessagesEncoder:
    """Writes one response of `POST /v1/messages` with `"stream": true`."""

    def __init__(self, *, model: str, response_id: str, created: int = 0) -> None:
        """Start an answer; the API's answers contain no timestamps."""
        del created
        self._head = _head(model, response_id)
        self._blocks = BlockSequencer()
        self._index = -1  # of the latest block
        self._open: str | None = None  # the type of the open block
        self._fresh = False  # whether the current prose has no output yet
        self._fragments: list[str] = []  # of the latest call
        self._called = False
        self._usage: Usage | None = None
        self._ended = False

    def opening(self) -> bytes:
        """Return the start of the message, with the usage so far, and a ping."""
        message = {**self._head, "content": [], **_NO_STOP, "usage": _usage(self._usage)}
        return _event("message_start", message=message) + self.ping()

    def ping(self) -> bytes:
        """Return a ping."""
        return _event("ping")

    def piece(self, piece: Piece) -> bytes:
        """Return the bytes to write for the next piece."""
        if self._ended:
            return b""
        if isinstance(piece, UsageUpdate):
            self._usage = piece.usage
            return b""
        if isinstance(piece, (Done, Failed)):
            self._ended = True
            return b"".join(self._finish(piece))
        return b"".join(frame for item in self._blocks.take(piece) for frame in self._write(item))

    def _finish(self, last: Done | Failed) -> Iterator[bytes]:
        for item in self._blocks.flush():
            yield from self._write(item)
        if isinstance(last, Done):
            yield from self._cut()
            reason = choose_stop_reason(last.stop, called=self._called)
            delta = {"stop_reason": reason, **_build_stop_fields(last.stop)}
            yield _event("message_delta", delta=delta, usage=_usage(self._usage))
            yield _event("message_stop")
        elif last.status == "error":
            yield _event("error", error=_error(last.error or Error(None, None, None)))

    def _write(self, piece: Piece) -> Iterator[bytes]:
        match piece:
            case ProseStart():
                self._fresh = True
            case ProseDelta():
                _, kind, field = _PROSE[piece.kind]
                yield from self._begin(piece.kind)
                yield self._delta({"type": kind, field: piece.delta})
            case TextEnd():
                yield from self._stop()
            case ThinkingEnd():
                yield from self._end_thinking(piece)
            case ToolCallStart():
                self._called = self._called or piece.executor == "client"
                yield from self._start(_call(piece.id, piece.name, piece.executor, {}))
                self._fragments = []
                yield self._arguments("")
            case ToolCallDelta():
                yield self._arguments(piece.delta)
            case ToolCallEnd():
                yield from self._end_call(compute_ending(piece.tool_call, blank=True))
            case PlacedBlock():
                yield from self._place(piece.block)
            case PlacedCitation():
                if is_own_citation(piece.citation):
                    yield from self._begin("text")
                    yield self._delta({"type": "citations_delta", "citation": piece.citation.data})
            case UsageUpdate() | Done() | Failed():
                pass  # not part of a block

    def _end_thinking(self, piece: ThinkingEnd) -> Iterator[bytes]:
        signature = piece.signature or ""
        if not self._fresh or (signature and not piece.redacted):
            yield from self._begin("thinking")
            yield self._write_signature("" if piece.redacted else signature)
        yield from self._stop()
        if piece.redacted and signature:
            yield from self._start({"type": "redacted_thinking", "data": signature})
            yield from self._stop()

    def _end_call(self, ending: str) -> Iterator[bytes]:
        if ending:
            yield self._arguments(ending)
        yield from self._stop()

    def _place(self, block: Other) -> Iterator[bytes]:
        if is_own_block(block):
            yield from self._start(block.data)
            yield from self._stop()

    def _begin(self, kind: ProseKind) -> Iterator[bytes]:
        if self._fresh:
            yield from self._start(_PROSE[kind][0])

    def _start(self, block: Json) -> Iterator[bytes]:
        yield from self._cut()
        self._index += 1
        self._open, self._fresh = block["type"], False
        yield _event("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: Json) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)

    def _write_signature(self, signature: str) -> bytes:
        return self._delta({"type": "signature_delta", "signature": signature})

    def _arguments(self, fragment: str) -> bytes:
        self._fragments.append(fragment)
        return self._delta({"type": "input_json_delta", "partial_json": fragment})

    def _stop(self) -> Iterator[bytes]:
        """Stop a block that has ended, unless it has no output."""
        if not self._fresh:
            self._open = None
            yield _event("content_block_stop", index=self._index)
        self._fresh = False

    def _cut(self) -> Iterator[bytes]:
        """Stop the open block, if there is one, even if it has not ended."""
        if self._open is None:
            return
        self._fresh = False
        if self._open == "thinking":
            yield self._write_signature("")
        elif self._open in _CALLS:
            ending = compute_cut_ending("".join(self._fragments))
            if ending:
                yield self._arguments(ending)
        yield from self._stop()


def write_document(outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
    """Return the answer as a single document, or as an error document if it is not complete."""
    del created
    called = apply_losses({_API: LOSSES}, _API, outcome, form="document")
    if called.status != "complete":
        return {"type": "error", "error": _error(called.error or Error(None, None, None))}
    return {
        **_head(model, response_id),
        "content": [_encode_block(block) for block in called.content],
        "stop_reason": called.stop.raw,
        **_build_stop_fields(called.stop),
        "usage": _usage(called.usage),
    }


def _event(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, kind)


def _head(model: str, response_id: str) -> Json:
    return {"id": response_id, "type": "message", "role": "assistant", "model": model}


def _call(call_id: str, name: str, executor: Executor, arguments: Any) -> Json:
    kind = "tool_use" if executor == "client" else "server_tool_use"
    block = {"type": kind, "id": call_id, "name": name, "input": arguments}
    if executor == "provider" and call_id.startswith(_MCP_ID):
        block |= {"type": "mcp_tool_use", "server_name": ""}
    return block


def _encode_block(block: Block) -> Json:
    match block:
        case Thinking() if block.redacted:
            return {"type": "redacted_thinking", "data": block.signature or ""}
        case Thinking():
            return {"type": "thinking", "thinking": block.text, "signature": block.signature or ""}
        case ToolCall():
            return _call(block.id, block.name, block.executor, block.arguments)
        case Other():
            data: Json = block.data
            return data
        case Text():
            cited = [citation.data for citation in block.citations]
            return {"type": "text", "text": block.text, **({"citations": cited} if cited else {})}
        case _:
            return {"type": "text", "text": block.text}


def _build_stop_fields(stop: Stop) -> Json:
    """Return the matched sequence, whose field is always present, and the details if there are any."""
    details = {} if stop.details is None else {"stop_details": stop.details}
    return {"stop_sequence": stop.sequence, **details}


def _usage(usage: Usage | None) -> Json:
    """Return the known counts, each at its path."""
    counts: Json = {}
    for name, (*holders, key) in USAGE_FIELDS.items():
        count = getattr(encode_usage(usage), name)
        if count is not None:
            holder = counts
            for item in holders:
                holder = holder.setdefault(item, {})
            holder[key] = count
    return counts


def _error(error: Error) -> Json:
    encoded = encode_error(error)
    return {"type": encoded.type, "message": encoded.message}
