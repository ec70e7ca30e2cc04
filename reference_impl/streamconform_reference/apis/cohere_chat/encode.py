"""Encode events as a Cohere Chat version 2 stream, and an outcome as a document (version 1: `encode_v1`).

Source: https://docs.cohere.com/reference/chat-stream, https://docs.cohere.com/docs/streaming

- Only one block is open at a time: the pieces of other blocks wait until it ends. Calls are numbered
  separately from content blocks. All thinking is content, as with newer models; older models' plans are not
  written.
- Arguments are text: a value becomes one fragment, even `{}`.
- An open call that has to end is made unparseable; see `arguments_text`.
- Usage is written at the end, as billed, but not for a failed answer. A failed answer has its error type in
  `error_type`, which is undocumented but sent by the API.
- `[DONE]` follows, as in every recorded stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from streamconform_reference.encoding.arguments_text import compute_cut_ending
from streamconform_reference.encoding.block_sequencer import BlockPiece, BlockSequencer
from streamconform_reference.encoding.encoder import Encoder, Piece, PlacedCitation, apply_losses
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
from streamconform_reference.framing.write import SSE_COMMENT, SSE_DONE, sse
from streamconform_reference.outcome import (
    Citation,
    Error,
    Json,
    Other,
    Outcome,
    ProseKind,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from .citations import CitationWriter
from .encode_v1 import CohereV1Encoder
from .losses import (
    LOSSES,
    STOP_WORDS,
    build_usage,
    choose_failed_reason,
    compute_call_ending,
    encode_error,
    is_own_citation,
)

_API: Final = "cohere-chat"
_V1: Final = "v1"


class CohereChatEncoder:
    """Writes one response of `POST /v2/chat` with `"stream": true`."""

    def __init__(self, *, model: str, response_id: str, framing: str | None = None, created: int = 0) -> None:
        """Start an answer."""
        del model, framing, created
        self._id = response_id
        self._blocks = BlockSequencer()
        self._frames: list[bytes] = []
        self._omitted: set[int] = set()  # positions of calls that a provider ran
        self._counts = {"content": 0, "tool-call": 0, "citation": 0}
        self._open: tuple[str, int] | None = None
        self._fragments: list[str] = []  # of the open call
        self._citations = CitationWriter()
        self._called = False
        self._usage: Usage | None = None
        self._ended = False

    def opening(self) -> bytes:
        """Return the start of the message."""
        head = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        self._write_event("message-start", id=self._id, delta={"message": head})
        return self._take()

    def ping(self) -> bytes:
        """Return a comment."""
        return SSE_COMMENT

    def piece(self, piece: Piece) -> bytes:
        """Return the bytes to write for the next piece."""
        if self._ended:
            return b""
        if isinstance(piece, UsageUpdate):
            self._usage = piece.usage
        elif isinstance(piece, (Done, Failed)):
            self._ended = True
            self._finish(piece)
        elif not self._is_omitted(piece):
            self._write(self._blocks.take(piece))
        return self._take()

    def _is_omitted(self, piece: BlockPiece) -> bool:
        if isinstance(piece, ToolCallStart) and piece.executor == "provider":
            self._omitted.add(piece.content_index)
        return piece.content_index in self._omitted

    def _take(self) -> bytes:
        written, self._frames = b"".join(self._frames), []
        return written

    def _finish(self, last: Done | Failed) -> None:
        self._write(self._blocks.flush())
        if isinstance(last, Done):
            self._cut()
            reason = STOP_WORDS.of(last.stop, called=self._called)
            self._write_event(
                "message-end", delta={"finish_reason": reason, "usage": build_usage(self._usage)}
            )
            self._frames.append(SSE_DONE)
        elif last.status == "error":
            error = encode_error(last.error or Error(None, None, None))
            self._write_event("message-end", delta=_failure(error))
            self._frames.append(SSE_DONE)

    def _write(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            match piece:
                case ProseStart():
                    self._begin("content", content=_content(piece.kind, "", typed=True))
                case ProseDelta():
                    self._write_open("content-delta", content=_content(piece.kind, piece.delta))
                case TextEnd() | ThinkingEnd():
                    self._end()
                case ToolCallStart():
                    self._called = True
                    self._begin("tool-call", tool_calls=_call(piece.id, piece.name, ""))
                case ToolCallDelta():
                    self._arguments(piece.delta)
                case ToolCallEnd():
                    self._arguments(compute_call_ending(piece.tool_call))
                    self._end()
                case PlacedCitation():
                    self._write_citation(piece.citation)
                case _:
                    pass

    def _write_citation(self, citation: Citation) -> None:
        """Write a citation that the API can express."""
        if is_own_citation(citation) and self._citations.is_next(citation):
            index = self._counts["citation"]
            self._counts["citation"] += 1
            self._write_event("citation-start", index=index, delta={"message": {"citations": citation.data}})
            self._write_event("citation-end", index=index)

    def _begin(self, kind: str, **message: Any) -> None:
        self._cut()
        self._open = (kind, self._counts[kind])
        self._counts[kind] += 1
        self._write_open(f"{kind}-start", **message)

    def _arguments(self, fragment: str) -> None:
        if fragment:
            self._fragments.append(fragment)
            self._write_open("tool-call-delta", tool_calls={"function": {"arguments": fragment}})

    def _cut(self) -> None:
        """End the open block, if there is one, even if it is incomplete."""
        if self._open:
            if self._open[0] == "tool-call":
                self._arguments(compute_cut_ending("".join(self._fragments)))
            self._end()

    def _end(self) -> None:
        if self._open:
            kind, index = self._open
            self._write_event(f"{kind}-end", index=index)
        self._open = None
        self._fragments = []

    def _write_open(self, kind: str, **message: Any) -> None:
        if self._open:
            self._write_event(kind, index=self._open[1], delta={"message": message})

    def _write_event(self, kind: str, **fields: Any) -> None:
        self._frames.append(sse({"type": kind, **fields}, kind))


def make_encoder(*, model: str, response_id: str, framing: str | None = None, created: int = 0) -> Encoder:
    """Return an encoder for version 2, or, with the framing `v1`, for version 1."""
    version = CohereV1Encoder if framing == _V1 else CohereChatEncoder
    return version(model=model, response_id=response_id, framing=framing, created=created)


def write_document(outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
    """Return the answer as a version 2 document, or as an error document if it is not complete."""
    del model, created
    expressed = apply_losses({_API: LOSSES}, _API, outcome, form="document")
    if expressed.status != "complete":
        return {"message": (expressed.error and expressed.error.message) or ""}
    message: Json = {"role": "assistant", "content": [], "tool_calls": [], "citations": []}
    writer = CitationWriter()
    for block in expressed.content:
        match block:
            case ToolCall():
                message["tool_calls"].append(_call(block.id, block.name, block.arguments_text or ""))
            case Other():
                pass  # `LOSSES` removes these blocks
            case _:
                cited = block.citations if isinstance(block, Text) else ()
                message["citations"] += [each.data for each in cited if writer.is_next(each)]
                kind: ProseKind = "thinking" if isinstance(block, Thinking) else "text"
                message["content"].append(_content(kind, block.text, typed=True))
    present = {key: value for key, value in message.items() if value or key == "content"}
    return {
        "id": response_id,
        "finish_reason": expressed.stop.raw,
        "message": present,
        "usage": build_usage(expressed.usage),
    }


def _content(kind: ProseKind, text: str, *, typed: bool = False) -> Json:
    key = "thinking" if kind == "thinking" else "text"
    return {"type": key, key: text} if typed else {key: text}


def _call(call_id: str, name: str, arguments: str) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _failure(error: Error) -> Json:
    word = choose_failed_reason(error)
    typed = {} if error.type == word else {"error_type": error.type}
    error_field = {} if error.message is None else {"error": error.message}
    return {"finish_reason": word, "usage": {}, **error_field, **typed}
