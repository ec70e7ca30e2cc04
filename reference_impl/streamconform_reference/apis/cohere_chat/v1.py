"""The events of `POST /v1/chat`, by their `event_type`.

Source: https://docs.cohere.com/reference/chat-stream-v1, the types in the `cohere` package (7.3.1), and
recorded streams.

Undocumented behavior, and differences between models:

- Calls arrive in pieces (`tool-calls-chunk`), complete (`tool-calls-generation`), or both. A call ends when
  it arrives complete. Pieces may lack the index; in that case, a name starts a call. There are no ids.
- `tool-calls-chunk` may contain text, which v2 calls the plan. In v1, it is part of the answer's `text`, both
  next to the calls and in the history, so it is read as text.
- `stream-end` repeats the complete answer; only the missing parts are added. Its `response` has the same form
  as the non-streaming answer.
- `finish_reason` is `COMPLETE` after tool calls, and missing from the `response` of older streams.
- Searches and their results become `other` blocks at the position where they arrived. Citations belong to the
  text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import read_objects, read_text
from streamconform_reference.json_text import codec

from .citations import read_citations
from .fields import require_object
from .terminal import end_answer, read_counts, set_stop

_TEXT: Final = "text"  # the slot of the only text block

# Lists in the final response, whose items may already have arrived in earlier events, and the block kind of
# their items.
_OTHER_KINDS: Final[Mapping[str, str]] = {
    "search_queries": "search_query",
    "search_results": "search_result",
    "documents": "document",
}
_CITATIONS: Final = "citations"


class V1Stream:
    """One v1 answer, and the parts of it that have arrived."""

    def __init__(self, message: Assembler) -> None:
        """Start with no events."""
        self.message = message
        self.calls = 0  # the number of calls that have started
        self._numbers: dict[int, int] = {}  # call numbers by the index of their pieces
        self._added_keys: set[str] = set()  # keys of `_OTHER_KINDS`, and `_CITATIONS`

    def append_text(self, fragment: str) -> None:
        """Append to the text."""
        self.message.add(_TEXT, "text", fragment)

    def add_others(self, payload: Payload) -> None:
        """Add searches, results, documents and citations."""
        for citation in read_objects(payload, _CITATIONS):
            self._added_keys.add(_CITATIONS)
            self.message.cite(_TEXT, read_citations(citation))
        for key, kind in _OTHER_KINDS.items():
            for item in read_objects(payload, key):
                self._added_keys.add(key)
                self.message.add_other(kind, item)

    def begin_call(self, name: str) -> int:
        """Start the next call; return its number."""
        self.message.start_call(("call", self.calls), id=None, name=name)
        self.calls += 1
        return self.calls - 1

    def read_piece(self, delta: Payload) -> None:
        """Read a piece of a call: its name, or a fragment of its parameters."""
        name, index = read_text(delta, "name"), delta.get("index")
        if type(index) is int:
            if index not in self._numbers:
                self._numbers[index] = self.begin_call(name)
            number = self._numbers[index]
        else:
            number = self.begin_call(name) if name else self.calls - 1
        fragment = read_text(delta, "parameters")
        if fragment:
            self.message.add_arguments(("call", number), fragment)

    def read_calls(self, calls: list[Payload]) -> None:
        """Read all calls in their final form, and end them."""
        for number, call in enumerate(calls):
            if number >= self.calls:
                self.begin_call(read_text(call, "name"))
            slot = ("call", number)
            self.message.settle_arguments(slot, self._to_parameters(slot, call.get("parameters")))
            self.message.end(slot)

    def read_answer(self, response: Payload) -> None:
        """Add the parts of the complete answer that its events omitted."""
        self.message.settle(_TEXT, "text", read_text(response, "text"))
        self.add_others({key: value for key, value in response.items() if key not in self._added_keys})
        self.read_calls(read_objects(response, "tool_calls"))

    def _to_parameters(self, slot: tuple[str, int], whole: Any) -> Any:
        """Return the parameters, or, if fragments arrived, text that completes or contradicts them."""
        return codec.dumps(whole).decode() if self.message.text(slot) else whole


Handler = Callable[[V1Stream, Payload], None]


def on_stream_start(stream: V1Stream, payload: Payload) -> None:
    """Read the reply's id, `generation_id`; v2 calls it `id`."""
    stream.message.begin(model=None, response_id=read_text(payload, "generation_id"))


def on_text(stream: V1Stream, payload: Payload) -> None:
    """Append to the text."""
    stream.append_text(read_text(payload, "text"))


def on_others(stream: V1Stream, payload: Payload) -> None:
    """Add searches, results, documents and citations."""
    stream.add_others(payload)


def on_tool_calls_chunk(stream: V1Stream, payload: Payload) -> None:
    """Read text, or a piece of a call."""
    stream.append_text(read_text(payload, "text"))
    if payload.get("tool_call_delta") is not None:
        delta = require_object(payload, "tool_call_delta")
        stream.append_text(read_text(delta, "text"))
        stream.read_piece(delta)


def on_tool_calls(stream: V1Stream, payload: Payload) -> None:
    """Read all calls, and the text before them, which may already have arrived in pieces."""
    stream.message.settle(_TEXT, "text", read_text(payload, "text"))
    stream.read_calls(read_objects(payload, "tool_calls"))


def on_stream_end(stream: V1Stream, payload: Payload) -> None:
    """End the answer with its missing parts, stop reason and usage; this is the terminal event."""
    response = payload.get("response")
    if response is not None:
        response = require_object(payload, "response")
        stream.message.response_id = (
            stream.message.response_id or read_text(response, "generation_id") or None
        )
        stream.read_answer(response)
    else:
        response = {}
    raw = read_text(payload, "finish_reason") or read_text(response, "finish_reason")
    set_stop(stream.message, raw)
    if response.get("meta") is not None:
        stream.message.report_usage(read_counts(require_object(response, "meta")))
    end_answer(stream.message, raw, payload)


HANDLERS: Final[Mapping[str, Handler]] = {
    "stream-start": on_stream_start,
    "search-queries-generation": on_others,
    "search-results": on_others,
    "text-generation": on_text,
    "citation-generation": on_others,
    "tool-calls-chunk": on_tool_calls_chunk,
    "tool-calls-generation": on_tool_calls,
    "stream-end": on_stream_end,
}
