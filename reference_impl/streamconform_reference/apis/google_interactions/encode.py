"""Encode events as a Gemini Interactions stream, and an outcome as a single document.

Source: https://ai.google.dev/api/interactions-api and recorded streams

- Only one step is open at a time: the pieces of other steps wait until it ends. A text or thinking step
  starts with its first piece, so that no step is empty.
- The start of a call has an empty object as arguments; the real arguments follow as text. The first fragment
  is empty. An open call that has to end is made unparseable (see `arguments_text`).
- A tool that the provider ran is written as one of Google's tools if it has such a tool's name, or else as an
  MCP server's tool.
- Usage is only in the last event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streamconform_reference.encoding.arguments_text import compute_cut_ending, compute_ending
from streamconform_reference.encoding.block_sequencer import BlockSequencer
from streamconform_reference.encoding.encoder import (
    Piece,
    PlacedBlock,
    PlacedCitation,
    apply_losses,
)
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
from streamconform_reference.framing.write import SSE_COMMENT, sse
from streamconform_reference.outcome import (
    Block,
    Error,
    Executor,
    Json,
    Other,
    Outcome,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from .losses import (
    LOSSES,
    MEDIA,
    choose_status,
    encode_error,
    encode_usage,
    is_own_block,
    is_own_citation,
)
from .request import HOSTED

__all__ = ["LOSSES", "GoogleInteractionsEncoder", "write_document"]

_API: Final = "google-interactions"
_DONE: Final = b"event: done\ndata: [DONE]\n\n"
_CALL: Final = "_call"


class GoogleInteractionsEncoder:
    """Writes one response of `POST /v1beta/interactions` with `"stream": true`."""

    def __init__(self, *, model: str, response_id: str, framing: str | None = None, created: int = 0) -> None:
        """Start an answer; the API has only one framing, and its events contain no timestamps."""
        del framing, created
        self._head: Json = {"id": response_id, "object": "interaction", "model": model}
        self._steps = BlockSequencer()
        self._index = -1  # of the latest step
        self._open: str | None = None  # the type of the open step
        self._fresh = False  # whether the current prose has no output yet
        self._fragments: list[str] = []  # of the latest call
        self._called = False
        self._usage: Usage | None = None
        self._ended = False

    def opening(self) -> bytes:
        """Return the start of the interaction."""
        running = {"status": "in_progress"}
        return _event("interaction.created", interaction=self._head | running) + _event(
            "interaction.status_update", interaction_id=self._head["id"], **running
        )

    def ping(self) -> bytes:
        """Return a comment: the API documents no ping event."""
        return SSE_COMMENT

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
        return b"".join(frame for item in self._steps.take(piece) for frame in self._write(item))

    def _finish(self, last: Done | Failed) -> Iterator[bytes]:
        for item in self._steps.flush():
            yield from self._write(item)
        if isinstance(last, Done):
            yield from self._cut()
            status = choose_status(last.stop, called=self._called)
            ended = self._head | {"status": status} | _usage(self._usage)
            yield _event("interaction.completed", interaction=ended) + _DONE
        elif last.status == "error":
            yield _event("error", error=_error(last.error)) + _DONE

    def _write(self, piece: Piece) -> Iterator[bytes]:
        match piece:
            case ProseStart():
                self._fresh = True
            case ProseDelta(_, "thinking", text):
                yield from self._begin("thought")
                yield self._delta({"type": "thought_summary", "content": {"type": "text", "text": text}})
            case ProseDelta(_, _, text):
                yield from self._begin("model_output")
                yield self._delta({"type": "text", "text": text})
            case TextEnd():
                yield from self._stop()
            case ThinkingEnd():
                if piece.signature and not piece.redacted:
                    yield from self._begin("thought")
                    yield self._delta({"type": "thought_signature", "signature": piece.signature})
                yield from self._stop()
            case ToolCallStart():
                self._called = self._called or piece.executor == "client"
                yield from self._start(_call(piece.id, piece.name, piece.executor, {}))
                self._fragments = []
                yield self._arguments("")
            case ToolCallDelta():
                yield self._arguments(piece.delta)
            case ToolCallEnd():
                ending = compute_ending(piece.tool_call)
                if ending:
                    yield self._arguments(ending)
                yield from self._stop()
            case PlacedBlock():
                yield from self._place(piece.block)
            case PlacedCitation():
                if not self._fresh and is_own_citation(piece.citation):
                    yield self._delta({"type": "text_annotation_delta", "annotations": [piece.citation.data]})
            case UsageUpdate() | Done() | Failed():
                pass  # not part of a step

    def _place(self, block: Other) -> Iterator[bytes]:
        if is_own_block(block):
            if block.kind in MEDIA:
                yield from self._start({"type": "model_output"})
                yield self._delta(block.data)
            else:
                yield from self._start(block.data)
            yield from self._stop()

    def _begin(self, kind: str) -> Iterator[bytes]:
        if self._fresh:
            yield from self._start({"type": kind})

    def _start(self, step: Json) -> Iterator[bytes]:
        yield from self._cut()
        self._index += 1
        self._open, self._fresh = step["type"], False
        yield _event("step.start", index=self._index, step=step)

    def _delta(self, delta: Json) -> bytes:
        return _event("step.delta", index=self._index, delta=delta)

    def _arguments(self, fragment: str) -> bytes:
        self._fragments.append(fragment)
        return self._delta({"type": "arguments_delta", "arguments": fragment})

    def _stop(self) -> Iterator[bytes]:
        """Stop a step that has ended, unless it has no output."""
        if not self._fresh:
            self._open = None
            yield _event("step.stop", index=self._index)
        self._fresh = False

    def _cut(self) -> Iterator[bytes]:
        """Stop the open step, if there is one, even if it has not ended."""
        if self._open is None:
            return
        self._fresh = False
        if self._open.endswith(_CALL):
            ending = compute_cut_ending("".join(self._fragments))
            if ending:
                yield self._arguments(ending)
        yield from self._stop()


def write_document(outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
    """Return the answer as a single document, or as an error document if it is not complete."""
    del created
    written = apply_losses({_API: LOSSES}, _API, outcome, form="document")
    if written.status != "complete":
        return {"error": _error(written.error)}
    return {
        "id": response_id,
        "object": "interaction",
        "model": model,
        "status": written.stop.raw,
        "steps": [_encode_block(block) for block in written.content],
        **_usage(written.usage),
    }


def _encode_block(block: Block) -> Json:
    match block:
        case Thinking():
            summary = {"summary": [{"type": "text", "text": block.text}]} if block.text else {}
            return {
                "type": "thought",
                **({"signature": block.signature} if block.signature else {}),
                **summary,
            }
        case ToolCall():
            return _call(block.id, block.name, block.executor, block.arguments)
        case Other() if block.kind in MEDIA:
            return {"type": "model_output", "content": [block.data]}
        case Other():
            data: Json = block.data
            return data
        case _:
            cited = [citation.data for citation in block.citations] if isinstance(block, Text) else []
            content = {"type": "text", "text": block.text, **({"annotations": cited} if cited else {})}
            return {"type": "model_output", "content": [content]}


def _call(call_id: str, name: str, executor: Executor, arguments: Any) -> Json:
    if executor == "client":
        return {"type": "function_call", "id": call_id, "name": name, "arguments": arguments}
    if name in HOSTED:
        return {"type": name + _CALL, "id": call_id, "arguments": arguments}
    return {"type": "mcp_server_tool_call", "id": call_id, "name": name, "arguments": arguments}


def _usage(usage: Usage | None) -> Json:
    """Return the field with the known counts; nothing if there are none."""
    known = encode_usage(usage)
    if known is None:
        return {}
    prompt = None if known.input is None else known.input + (known.cache_read or 0)
    output = None if known.output is None else known.output - (known.reasoning or 0)
    counts: dict[str, Any] = {
        "total_input_tokens": prompt,
        "total_cached_tokens": known.cache_read,
        "total_output_tokens": output,
        "total_thought_tokens": known.reasoning,
        "total_tokens": (prompt or 0) + (known.output or 0),
    }
    if known.web_searches is not None:
        counts["grounding_tool_count"] = [{"type": "google_search", "count": known.web_searches}]
    return {"usage": {name: count for name, count in counts.items() if count is not None}}


def _error(error: Error | None) -> Json:
    encoded = encode_error(error or Error(None, None, None))
    return {"code": encoded.type, "message": encoded.message}


def _event(kind: str, **fields: Any) -> bytes:
    return sse({"event_type": kind, **fields}, kind)
