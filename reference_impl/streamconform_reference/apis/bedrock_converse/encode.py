"""Encode events as a Bedrock Converse event stream, and an outcome as a single document.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, and for failures
https://smithy.io/2.0/aws/amazon-eventstream.html

- Only one block is open at a time: the pieces of other blocks wait until it ends. Text and reasoning have no
  start event; their block starts with its first delta, so that no block is empty.
- The first fragment of a call is empty, as AWS sends it; the call's arguments follow as text.
- Usage comes last, after the stop reason, so a failed answer has none. The latency next to it is 0, because
  it is not measured.
- The API's exceptions are messages of type `exception`; any other error is a message of type `error`.
- An open call that has to end is made unparseable; see `arguments_text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

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
from streamconform_reference.framing.write import encode_event_stream_message
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

from .failures import EXCEPTIONS
from .losses import (
    LOSSES,
    OTHER_STARTS,
    STOP_WORDS,
    document_error,
    encode_error,
    encode_usage,
    fits_header,
    is_own_block,
    is_own_citation,
)
from .usage import USAGE_FIELDS

_API: Final = "bedrock-converse"
_JSON: Final[Mapping[str, str]] = {":content-type": "application/json"}


class BedrockConverseEncoder:
    """Writes one response of `POST /model/{modelId}/converse-stream`."""

    def __init__(self, *, model: str, response_id: str, framing: str | None = None, created: int = 0) -> None:
        """Start an answer; the API has only one framing, and its answers have no id or model."""
        del model, response_id, framing, created
        self._blocks = BlockSequencer()
        self._messages: list[bytes] = []
        self._index = -1  # of the latest block
        self._open = False  # whether that block has not stopped
        self._begun = False  # whether the current pieces belong to that block
        self._fragments: list[str] = []  # of the open call
        self._called = False
        self._usage: Usage | None = None
        self._ended = False

    def opening(self) -> bytes:
        """Return the start of the message."""
        return _event("messageStart", {"role": "assistant"})

    def ping(self) -> bytes:
        """Return nothing: the framing has no message without content."""
        return b""

    def piece(self, piece: Piece) -> bytes:
        """Return the bytes to write for the next piece."""
        if self._ended:
            return b""
        if isinstance(piece, UsageUpdate):
            self._usage = piece.usage
        elif isinstance(piece, (Done, Failed)):
            self._ended = True
            self._finish(piece)
        else:
            self._write(self._blocks.take(piece))
        written, self._messages = b"".join(self._messages), []
        return written

    def _finish(self, last: Done | Failed) -> None:
        self._write(self._blocks.flush())
        if isinstance(last, Done):
            self._cut()
            self._write_event("messageStop", {"stopReason": STOP_WORDS.of(last.stop, called=self._called)})
            self._write_event("metadata", {"usage": _usage(self._usage), "metrics": {"latencyMs": 0}})
        elif last.status == "error":
            self._messages.append(write_failure(last.error or Error(None, None, None)))

    def _write(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            match piece:
                case ProseStart():
                    self._begun = False
                case ProseDelta(_, "thinking", delta):
                    self._delta({"reasoningContent": {"text": delta}})
                case ProseDelta(_, _, delta):
                    self._delta({"text": delta})
                case TextEnd():
                    self._end()
                case ThinkingEnd():
                    self._end_thinking(piece)
                case ToolCallStart():
                    self._called = self._called or piece.executor == "client"
                    self._start({"toolUse": _build_call(piece.id, piece.name, piece.executor)})
                    self._arguments("")
                case ToolCallDelta():
                    self._arguments(piece.delta)
                case ToolCallEnd():
                    self._end(compute_ending(piece.tool_call))
                case PlacedBlock():
                    self._place(piece.block)
                case PlacedCitation():
                    if self._begun and is_own_citation(piece.citation):
                        self._delta({"citation": piece.citation.data})
                case _:
                    pass

    def _end_thinking(self, piece: ThinkingEnd) -> None:
        if piece.signature and piece.redacted:
            self._end()
            self._delta({"reasoningContent": {"redactedContent": piece.signature}})
        elif piece.signature:
            self._delta({"reasoningContent": {"signature": piece.signature}})
        self._end()

    def _place(self, other: Other) -> None:
        if is_own_block(other):
            key, _ = OTHER_STARTS[other.kind]
            parts = other.data.get("content") if key == "toolResult" else None
            listed = isinstance(parts, list)
            self._start(
                {key: {name: value for name, value in other.data.items() if not listed or name != "content"}}
            )
            if listed:
                self._delta({key: parts})
            self._end()

    def _start(self, start: Json) -> None:
        self._begin()
        self._write_event("contentBlockStart", {"contentBlockIndex": self._index, "start": start})

    def _delta(self, delta: Json) -> None:
        if not self._begun:
            self._begin()
        self._write_event("contentBlockDelta", {"contentBlockIndex": self._index, "delta": delta})

    def _arguments(self, fragment: str) -> None:
        self._fragments.append(fragment)
        self._write_event(
            "contentBlockDelta",
            {"contentBlockIndex": self._index, "delta": {"toolUse": {"input": fragment}}},
        )

    def _begin(self) -> None:
        self._cut()
        self._index += 1
        self._open = self._begun = True

    def _end(self, ending: str = "") -> None:
        """End the block of the current pieces, if it has output."""
        if self._begun:
            self._stop(ending)

    def _cut(self) -> None:
        """End the open block, if there is one, even if it is incomplete."""
        if self._open:
            self._stop(compute_cut_ending("".join(self._fragments)) if self._fragments else "")

    def _stop(self, ending: str) -> None:
        if ending:
            self._arguments(ending)
        self._write_event("contentBlockStop", {"contentBlockIndex": self._index})
        self._open = self._begun = False
        self._fragments = []

    def _write_event(self, kind: str, payload: Json) -> None:
        self._messages.append(_event(kind, payload))


def write_document(outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
    """Return the answer as a single document, or as an error document if it is not complete."""
    del model, response_id, created
    expressed = apply_losses({_API: LOSSES}, _API, outcome, form="document")
    if expressed.status != "complete":
        return write_error_document(expressed.error or Error(None, None, None))
    content = [_encode_block(block) for block in expressed.content]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": expressed.stop.raw,
        "usage": _usage(expressed.usage),
        "metrics": {"latencyMs": 0},
    }


def _encode_block(block: Block) -> Json:
    match block:
        case Thinking() if block.redacted:
            return {"reasoningContent": {"redactedContent": block.signature}}
        case Thinking():
            signed = {} if block.signature is None else {"signature": block.signature}
            return {"reasoningContent": {"reasoningText": {"text": block.text, **signed}}}
        case ToolCall():
            return {
                "toolUse": {**_build_call(block.id, block.name, block.executor), "input": block.arguments}
            }
        case Other():
            return {OTHER_STARTS[block.kind][0]: block.data}
        case Text() if block.citations:
            cited = [citation.data for citation in block.citations]
            return {"citationsContent": {"content": [{"text": block.text}], "citations": cited}}
        case _:
            return {"text": block.text}


def _build_call(call_id: str, name: str, executor: Executor) -> Json:
    hosted = {"type": "server_tool_use"} if executor == "provider" else {}
    return {"toolUseId": call_id, "name": name, **hosted}


def _usage(usage: Usage | None) -> Json:
    """Return the counts; the total includes cached tokens."""
    usage_counts = encode_usage(usage)
    counts = {name: getattr(usage_counts, name) for name in USAGE_FIELDS}
    known = {USAGE_FIELDS[name]: count for name, count in counts.items() if count is not None}
    details: Json = {}
    if usage_counts.cache_write_1h is not None:
        short = max((usage_counts.cache_write or 0) - usage_counts.cache_write_1h, 0)
        details = {
            "cacheDetails": [
                {"ttl": "1h", "inputTokens": usage_counts.cache_write_1h},
                {"ttl": "5m", "inputTokens": short},
            ]
        }
    return {**known, "totalTokens": sum(known.values()), **details}


def _event(kind: str, payload: Json) -> bytes:
    return encode_event_stream_message({":event-type": kind, **_JSON, ":message-type": "event"}, payload)


def write_error_document(error: Error) -> Json:
    """Return the document for a failed request."""
    encoded = document_error(error)
    kind = encoded.type or ""
    return {"__type": kind[:1].upper() + kind[1:], "message": encoded.message or ""}


def write_failure(error: Error) -> bytes:
    """Return the message that ends a failed answer."""
    encoded = encode_error(error)
    kind, message = encoded.type or "", encoded.message or ""
    payload = {"message": message}
    if kind in EXCEPTIONS:
        return encode_event_stream_message(
            {":exception-type": kind, **_JSON, ":message-type": "exception"}, payload
        )
    message_header = {":error-message": message} if fits_header(message) else {}
    return encode_event_stream_message(
        {":error-code": kind, **message_header, **_JSON, ":message-type": "error"}, payload
    )
