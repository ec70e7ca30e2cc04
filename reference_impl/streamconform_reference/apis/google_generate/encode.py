"""Encode events as Gemini's `streamGenerateContent`, in either framing, and an outcome as a document.

Source: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/function-calling,
https://ai.google.dev/gemini-api/docs/thought-signatures

- There are no blocks on the wire, so the pieces of a block wait until every earlier block has ended.
- A call is one part, so it waits until it is complete; a truncated call is never written. Only Vertex AI
  streams calls in pieces, on request. A call whose arguments are not an object causes the answer to fail with
  `MALFORMED_FUNCTION_CALL`, as in the API.
- A call's signature is on the call's part. The signature of text or thinking is on an empty part after it,
  because the text is written as it arrives.
- Usage is written with the next chunk. An error is an event like any other, whereas Google's own servers send
  errors between events, where most clients do not see them.
- An answer that ends without content still has one chunk, with the model and id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from streamconform_reference.encoding.block_sequencer import BlockSequencer
from streamconform_reference.encoding.encoder import Piece, PlacedBlock, apply_losses, to_pieces
from streamconform_reference.events import (
    Done,
    Failed,
    ProseDelta,
    TextEnd,
    ThinkingEnd,
    ToolCallEnd,
    UsageUpdate,
)
from streamconform_reference.framing.write import ARRAY_END, SSE_COMMENT, array_element, sse
from streamconform_reference.outcome import Error, Json, Other, Outcome, Stop, ToolCall, Usage

from .failures import encode_error, is_finish_reason
from .losses import (
    LOSSES,
    MALFORMED,
    STOP_WORDS,
    encode_usage,
    is_blocked,
    is_expressible,
    is_hosted,
    is_malformed,
    is_metadata,
    is_part,
    make_malformed_error,
)

_API: Final = "google-generate"
_ARRAY: Final = "json_array"
_BLANK: Final = b"\n"


class _PartWriter:
    """Converts an answer's pieces to content parts and candidate fields."""

    def __init__(self) -> None:
        """Start with no parts."""
        self.malformed: Error | None = None
        """The error that causes the answer to fail."""
        self.written = False
        """Whether there was any output."""

    def take(self, piece: Piece) -> list[Json]:
        """Return the parts and fields that are already known, one object for each."""
        match piece:
            case ProseDelta(_, "thinking", delta):
                return [self._content({"text": delta, "thought": True})]
            case ProseDelta(_, _, delta):
                return [self._content({"text": delta})]
            case ThinkingEnd(_, _, str(signature), False) if signature:
                return [self._content({"text": "", "thought": True, "thoughtSignature": signature})]
            case TextEnd(signature=str(signature)) if signature:
                return [self._content({"text": "", "thoughtSignature": signature})]
            case ToolCallEnd(_, call):
                return self._call(call)
            case PlacedBlock(_, other):
                return self._place(other)
            case _:
                pass
        return []

    def _call(self, call: ToolCall) -> list[Json]:
        if is_malformed(call):
            self.malformed = self.malformed or make_malformed_error(call)
        if not is_expressible(call):
            return []
        signed = {"thoughtSignature": call.signature} if call.signature else {}
        if is_hosted(call):
            hosted = {"id": call.id, "toolType": call.name, "args": call.arguments}
            return [self._content({"toolCall": hosted, **signed})]
        function = {"id": call.id, "name": call.name, "args": call.arguments}
        return [self._content({"functionCall": function, **signed})]

    def _place(self, other: Other) -> list[Json]:
        if is_part(other):
            return [self._content({other.kind: other.data})]
        if not is_metadata(other):
            return []
        self.written = True
        return [{other.kind: other.data}]

    def _content(self, part: Json) -> Json:
        self.written = True
        return _candidate([part])


class GoogleGenerateEncoder:
    """Writes one response of `:streamGenerateContent`, as events or, with `json_array`, as an array."""

    def __init__(self, *, model: str, response_id: str, framing: str | None = None, created: int = 0) -> None:
        """Start an answer."""
        del created
        self._names = {"modelVersion": model, "responseId": response_id}
        self._array = framing == _ARRAY
        self._blocks = BlockSequencer()
        self._parts = _PartWriter()
        self._usage: Usage | None = None
        self._written: Usage | None = None
        self._begun = False
        self._ended = False

    def opening(self) -> bytes:
        """Return nothing: the first chunk already has content."""
        return b""

    def ping(self) -> bytes:
        """Return a comment, or whitespace between two array elements."""
        return _BLANK if self._array else SSE_COMMENT

    def piece(self, piece: Piece) -> bytes:
        """Return the bytes to write for the next piece."""
        if self._ended:
            return b""
        if isinstance(piece, UsageUpdate):
            self._usage = piece.usage
            return b""
        if isinstance(piece, (Done, Failed)):
            self._ended = True
            written = self._write(self._blocks.flush())
            return written + (self._finish(piece.stop) if isinstance(piece, Done) else self._fail(piece))
        return self._write(self._blocks.take(piece))

    def _write(self, pieces: Iterable[Piece]) -> bytes:
        return b"".join(self._candidates(self._parts.take(piece)) for piece in pieces)

    def _finish(self, stop: Stop) -> bytes:
        self._written = None
        end = self._chunk(**_build_ending(stop, self._parts))
        return end + self._close()

    def _fail(self, last: Failed) -> bytes:
        if last.status == "error":
            error = encode_error(last.error or Error(None, None, None))
            if is_finish_reason(error):
                self._written = None
                return self._chunk(**_build_failure(error)) + self._close()
            return self._last_words() + self._frame({"error": _error(error)}) + self._close()
        return self._last_words()

    def _last_words(self) -> bytes:
        """Write usage or names that no chunk has contained yet."""
        return b"" if self._begun and self._usage == self._written else self._chunk(usageMetadata={})

    def _candidates(self, candidates: Iterable[Json]) -> bytes:
        return b"".join(self._chunk(candidates=[{**item, "index": 0}]) for item in candidates)

    def _chunk(self, **fields: Any) -> bytes:
        metadata = build_usage(self._usage)
        if metadata and self._usage != self._written:
            fields["usageMetadata"] = metadata
        self._written = self._usage
        return self._frame({**fields, **self._names})

    def _frame(self, payload: Json) -> bytes:
        first, self._begun = not self._begun, True
        return array_element(payload, first=first) if self._array else sse(payload)

    def _close(self) -> bytes:
        return ARRAY_END if self._array else b""


def write_document(outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
    """Return the answer as a single document, or as an error document if it is not complete."""
    del created
    expressed = apply_losses({_API: LOSSES}, _API, outcome, form="document")
    error = expressed.error
    if error is not None and not is_finish_reason(error):
        return {"error": _error(error)}
    parts, candidate = _PartWriter(), _candidate([])
    for fields in _write_parts(expressed, parts):
        candidate["content"]["parts"] += fields.pop("content", {"parts": []})["parts"]
        candidate |= fields
    end = _build_ending(expressed.stop, parts) if error is None else _build_failure(error)
    if "candidates" in end:
        end = {"candidates": [{**end["candidates"][0], **candidate}]}
    metadata = build_usage(expressed.usage)
    counts = {"usageMetadata": metadata} if metadata else {}
    return {**end, **counts, "modelVersion": model, "responseId": response_id}


def _write_parts(expressed: Outcome, parts: _PartWriter) -> Iterator[Json]:
    blocks = BlockSequencer()
    for piece in to_pieces(expressed):
        if not isinstance(piece, (UsageUpdate, Done, Failed)):
            for item in blocks.take(piece):
                yield from parts.take(item)


def _build_ending(stop: Stop, parts: _PartWriter) -> Json:
    """Return the last chunk's fields: the finish reason, or the block reason."""
    if parts.malformed:
        return _build_failure(parts.malformed)
    if is_blocked(stop) and not parts.written:
        return {"promptFeedback": {"blockReason": stop.raw}}
    return {"candidates": [_last(STOP_WORDS.of(stop, called=False))]}


def _build_failure(error: Error) -> Json:
    """Return the last chunk's fields for an answer whose finish reason indicates failure."""
    error_field = {} if error.message is None else {"finishMessage": error.message}
    return {"candidates": [{**_last(error.type or MALFORMED), **error_field}]}


def build_usage(usage: Usage | None) -> Json:
    """Return the counts; they do not overlap, except that the prompt count includes the cached tokens."""
    usage_counts = encode_usage(usage)
    if usage_counts is None:
        return {}
    prompt = None if usage_counts.input is None else usage_counts.input + (usage_counts.cache_read or 0)
    candidates = None if usage_counts.output is None else usage_counts.output - (usage_counts.reasoning or 0)
    counts = {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage_counts.cache_read,
        "candidatesTokenCount": candidates,
        "thoughtsTokenCount": usage_counts.reasoning,
        "totalTokenCount": (prompt or 0) + (candidates or 0) + (usage_counts.reasoning or 0),
    }
    return {name: count for name, count in counts.items() if count is not None}


def _candidate(parts: list[Json]) -> Json:
    return {"content": {"parts": parts, "role": "model"}}


def _last(reason: str) -> Json:
    return {**_candidate([{"text": ""}]), "finishReason": reason, "index": 0}


def _error(error: Error) -> Json:
    return {"code": error.status, "message": error.message, "status": error.type}
