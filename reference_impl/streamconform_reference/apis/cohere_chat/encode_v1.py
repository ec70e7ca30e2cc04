"""Encode events as a Cohere Chat version 1 stream, one JSON document per line.

Source: https://docs.cohere.com/reference/chat-stream-v1

- All text is one block, regardless of its position. Thinking is not written.
- Calls are written complete, in one event at the end, because pieces would not show where a call ends. Their
  arguments must be objects: a call with other arguments causes the answer to fail. They have no ids.
- The last event repeats the complete answer.
"""

from __future__ import annotations

from typing import Any, Final

from streamconform_reference.encoding.block_sequencer import BlockSequencer
from streamconform_reference.encoding.encoder import Piece, PlacedBlock, PlacedCitation
from streamconform_reference.events import Done, Failed, ProseDelta, ToolCallEnd, UsageUpdate
from streamconform_reference.framing.write import ndjson
from streamconform_reference.outcome import Error, Json, ToolCall, Usage

from .citations import CitationWriter
from .losses import build_usage, choose_failed_reason, encode_error
from .losses_v1 import (
    V1_OTHERS,
    V1_STOP_WORDS,
    is_malformed,
    is_v1_block,
    is_v1_citation,
    is_whole,
    make_malformed_error,
)

_BLANK: Final = b"\n"


class CohereV1Encoder:
    """Writes one response of `POST /v1/chat` with `"stream": true`."""

    def __init__(self, *, model: str, response_id: str, framing: str | None = None, created: int = 0) -> None:
        """Start an answer."""
        del model, framing, created
        self._blocks = BlockSequencer()
        self._response: Json = {"generation_id": response_id, "text": ""}
        self._calls: list[Json] = []
        self._citations = CitationWriter()
        self._malformed: Error | None = None
        self._usage: Usage | None = None
        self._ended = False

    def opening(self) -> bytes:
        """Return the start of the answer."""
        return _record("stream-start", {"generation_id": self._response["generation_id"]})

    def ping(self) -> bytes:
        """Return a blank line."""
        return _BLANK

    def piece(self, piece: Piece) -> bytes:
        """Return the bytes to write for the next piece."""
        if self._ended:
            return b""
        if isinstance(piece, UsageUpdate):
            self._usage = piece.usage
            return b""
        if isinstance(piece, (Done, Failed)):
            self._ended = True
            return b"".join(self._write(item) for item in self._blocks.flush()) + self._finish(piece)
        return b"".join(self._write(item) for item in self._blocks.take(piece))

    def _write(self, piece: Piece) -> bytes:
        match piece:
            case ProseDelta(_, "text" | "refusal", delta):
                self._response["text"] += delta
                return _record("text-generation", {"text": delta})
            case ToolCallEnd(_, call) if call.executor == "client":
                self._take(call)
            case PlacedBlock(_, other) if is_v1_block(other):
                event, key, _ = V1_OTHERS[other.kind]
                return self._place(event, key, other.data)
            case PlacedCitation(_, citation) if is_v1_citation(citation) and self._citations.is_next(
                citation
            ):
                return self._place("citation-generation", "citations", citation.data)
            case _:
                pass
        return b""

    def _take(self, call: ToolCall) -> None:
        if is_malformed(call):
            self._malformed = self._malformed or make_malformed_error(call)
        elif is_whole(call):
            self._calls.append({"name": call.name, "parameters": call.arguments})

    def _place(self, event: str, key: str, data: Any) -> bytes:
        self._response.setdefault(key, []).append(data)
        return _record(event, {key: [data]})

    def _finish(self, last: Done | Failed) -> bytes:
        if isinstance(last, Failed) and last.status == "incomplete":
            return b""
        calls_event = b""
        if self._calls:
            self._response["tool_calls"] = self._calls
            calls_event = _record(
                "tool-calls-generation", {"text": self._response["text"], "tool_calls": self._calls}
            )
        failed = self._malformed if isinstance(last, Done) else last.error or Error(None, None, None)
        if failed is None and isinstance(last, Done):
            return calls_event + self._end(
                V1_STOP_WORDS.of(last.stop, called=False), build_usage(self._usage)
            )
        error = encode_error(failed or Error(None, None, None))
        word = choose_failed_reason(error, V1_STOP_WORDS.meanings)
        typed = {} if error.type == word else {"error_type": error.type}
        error_field = {} if error.message is None else {"error": error.message}
        return calls_event + self._end(word, None, {**error_field, **typed})

    def _end(self, word: str, usage: Json | None, failure: Json | None = None) -> bytes:
        present = {} if usage is None else {"meta": {"api_version": {"version": "1"}, **usage}}
        response = {**self._response, "finish_reason": word, **present}
        last = {"finish_reason": word, "response": response, **(failure or {})}
        return _record("stream-end", last, finished=True)


def _record(kind: str, fields: Json, *, finished: bool = False) -> bytes:
    return ndjson({"is_finished": finished, "event_type": kind, **fields})
