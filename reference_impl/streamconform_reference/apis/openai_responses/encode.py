"""Encode events as an OpenAI Responses stream, and an outcome as the response of its last event.

Source: https://platform.openai.com/docs/api-reference/responses-streaming,
https://platform.openai.com/docs/api-reference/responses/object

- Every text, refusal or thinking block, and every call, is a separate item. Several items may be open at
  once, so pieces are written immediately. Thinking is a part of the summary, and its signature is the
  `encrypted_content`.
- Arguments are text: a value becomes one fragment, even `{}`. A call whose arguments are the text itself
  belongs to a custom tool.
- A call to a hosted tool waits for its result, because one item contains both, in the API's own form. Other
  complete items wait until no prose is open, because OpenAI's servers never start one inside another.
- In a truncated answer, the last call is left as an incomplete item. In any other answer, a call that never
  ended has to end with the answer, as `arguments_text` describes.
- Usage is written at the end, but not for a failed answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamconform_reference.encoding.arguments_text import compute_cut_ending, compute_ending
from streamconform_reference.encoding.encoder import Piece, PlacedBlock, PlacedCitation, to_pieces
from streamconform_reference.encoding.losses import TRUNCATED
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
from streamconform_reference.outcome import Error, Json, Other, Outcome, Stop, Usage

from .calls import read_call_id
from .encode_items import CallItem, EventFields, Kind, MessageItem, ReasoningItem, write_whole_item
from .losses import COMPLETED, CUT, encode_error, encode_stop, is_hosted_call, is_item, is_own_citation


class OpenaiResponsesEncoder:
    """Writes one response of `POST /v1/responses` with `"stream": true`."""

    def __init__(self, *, model: str, response_id: str, framing: str | None = None, created: int = 0) -> None:
        """Start an answer; the API has only one framing."""
        del framing
        self.response = build_response(model, response_id, created)
        """The response so far, as in the latest event."""
        self._suffix = response_id.removeprefix("resp_")
        self._number = 0
        self._items: list[MessageItem | ReasoningItem | CallItem | Json] = []
        self._open: dict[int, MessageItem | ReasoningItem | CallItem] = {}  # by position in the content
        self._hosted: set[str] = set()  # ids of pending calls to hosted tools
        self._waiting: list[Json] = []  # whole items
        self._refused = False
        self._usage: Usage | None = None
        self._ended = False

    def opening(self) -> bytes:
        """Return the events that announce the response as created and in progress."""
        response = {"response": self.response}
        return self._write_event([("response.created", response), ("response.in_progress", response)])

    def ping(self) -> bytes:
        """Return a comment."""
        return SSE_COMMENT

    def piece(self, piece: Piece) -> bytes:
        """Return the bytes to write for the next piece."""
        return b"" if self._ended else self._write_event(self._written(piece))

    def _write_event(self, events: Iterable[EventFields]) -> bytes:
        return b"".join(self._event(kind, fields) for kind, fields in events)

    def _event(self, kind: str, fields: Json) -> bytes:
        payload = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return sse(payload, kind)

    def _written(self, piece: Piece) -> Iterator[EventFields]:
        match piece:
            case ProseStart(position, "thinking"):
                yield from self._begin(position, ReasoningItem(id=self._id("rs"), index=len(self._items)))
            case ProseStart(position):
                kind: Kind = "refusal" if piece.kind == "refusal" else "text"
                item = MessageItem(id=self._id("msg"), index=len(self._items), kind=kind, phase=piece.phase)
                yield from self._begin(position, item)
            case ProseDelta(position) | ToolCallDelta(position):
                if position in self._open:
                    yield from self._open[position].add(piece.delta)
            case TextEnd(position) | ThinkingEnd(position):
                signature = piece.signature if isinstance(piece, ThinkingEnd) else None
                yield from self._end_prose(position, signature)
                yield from self._rest()
            case ToolCallStart():
                yield from self._begin_call(piece)
            case ToolCallEnd(position, call):
                yield from self._end_call(position, compute_ending(call))
            case PlacedBlock(_, other):
                yield from self._place(other)
            case PlacedCitation(position, citation):
                message = self._open.get(position)
                if isinstance(message, MessageItem) and is_own_citation(citation):
                    yield from message.add_citation(citation.data)
            case UsageUpdate():
                self._usage = piece.usage
            case Done(stop):
                yield from self._finish(stop)
            case Failed():
                yield from self._fail(piece)

    # Items.

    def _begin(self, position: int, item: MessageItem | ReasoningItem | CallItem) -> list[EventFields]:
        self._items.append(item)
        self._open[position] = item
        return item.begin()

    def _begin_call(self, start: ToolCallStart) -> list[EventFields]:
        if start.executor == "provider":
            self._hosted.add(start.id)
            return []
        call = CallItem(
            id=self._id("ctc" if start.free_text else "fc"),
            index=len(self._items),
            call_id=start.id,
            name=start.name,
            free_text=start.free_text,
        )
        return self._begin(start.content_index, call)

    def _end_prose(self, position: int, signature: str | None, *, cut: bool = False) -> list[EventFields]:
        item = self._open.pop(position, None)
        if isinstance(item, MessageItem):
            self._refused |= item.kind == "refusal" and bool(item.text)
            return item.end("incomplete" if cut else "completed")
        return item.end(signature) if isinstance(item, ReasoningItem) else []

    def _end_call(self, position: int, ending: str, *, cut: bool = False) -> Iterator[EventFields]:
        item = self._open.pop(position, None)
        if isinstance(item, CallItem):
            if ending and not item.free_text:
                yield from item.add(ending)
            yield from item.end("incomplete" if cut else "completed")

    def _place(self, other: Other) -> Iterator[EventFields]:
        if is_item(other) or (is_hosted_call(other) and read_call_id(other.data) in self._hosted):
            self._waiting.append(other.data)
            yield from self._rest()

    def _rest(self, *, now: bool = False) -> Iterator[EventFields]:
        """Write the pending items, unless prose is open."""
        if now or not any(isinstance(item, (MessageItem, ReasoningItem)) for item in self._open.values()):
            for item in self._waiting:
                self._items.append(item)
                yield from write_whole_item(len(self._items) - 1, item)
            self._waiting = []

    def _id(self, prefix: str) -> str:
        return f"{prefix}_{self._suffix}_{len(self._items)}"

    # The end.

    def _finish(self, stop: Stop) -> Iterator[EventFields]:
        raw, _ = encode_stop(stop, refused=self._refused or self._is_refusing())
        if any(isinstance(item, CallItem) and item.free_text for item in self._open.values()):
            raw = CUT if raw == COMPLETED else raw  # free text cannot be made unparseable
        cut = raw != COMPLETED
        for position, item in [*self._open.items()]:
            if isinstance(item, CallItem):
                yield from self._end_call(position, "" if cut else compute_cut_ending(item.text), cut=cut)
            else:
                yield from self._end_prose(position, None, cut=cut)
        yield from self._rest()
        events = build_usage(self._usage)
        if self._usage and self._usage.web_searches is not None:
            searches = {"num_requests": self._usage.web_searches}
            self.response = {**self.response, "tool_usage": {"web_search": searches}}
        details = {"incomplete_details": {"reason": raw}} if cut else {}
        yield self._end("incomplete" if cut else "completed", usage=events, **details)

    def _fail(self, last: Failed) -> Iterator[EventFields]:
        yield from self._rest(now=True)
        self._ended = True
        if last.status == "error":
            encoded = encode_error(last.error or Error(None, None, None))
            yield self._end("failed", error={"code": encoded.type, "message": encoded.message or ""})

    def _end(self, status: str, **fields: object) -> EventFields:
        self._ended = True
        done = [item if isinstance(item, dict) else item.done for item in self._items]
        output = [item for item in done if item is not None]
        self.response = {**self.response, "status": status, "output": output, **fields}
        return f"response.{status}", {"response": self.response}

    def _is_refusing(self) -> bool:
        messages = (item for item in self._open.values() if isinstance(item, MessageItem))
        return any(item.kind == "refusal" and item.text for item in messages)


def write_document(outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
    """Return the response as a single document, or as an error document if it is not complete."""
    if outcome.status != "complete":
        encoded = encode_error(outcome.error or TRUNCATED)
        return {
            "error": {"message": encoded.message or "", "type": encoded.type, "param": None, "code": None}
        }
    encoder = OpenaiResponsesEncoder(model=model, response_id=response_id, created=created)
    for piece in to_pieces(outcome):
        encoder.piece(piece)
    return encoder.response


def build_response(model: str, response_id: str, created: int) -> Json:
    """Return a response at its start."""
    return {
        "id": response_id,
        "object": "response",
        "created_at": created,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def build_usage(usage: Usage | None) -> Json:
    """Return the token counts; `input_tokens` includes the cache, and unknown counts are 0."""
    events = usage or Usage()
    read, written = events.cache_read, events.cache_write
    total, output = (events.input or 0) + (read or 0) + (written or 0), events.output or 0
    cached = {"cached_tokens": read, "cache_write_tokens": written}
    return {
        "input_tokens": total,
        "input_tokens_details": {key: count for key, count in cached.items() if count is not None},
        "output_tokens": output,
        "output_tokens_details": {} if events.reasoning is None else {"reasoning_tokens": events.reasoning},
        "total_tokens": total + output,
    }
