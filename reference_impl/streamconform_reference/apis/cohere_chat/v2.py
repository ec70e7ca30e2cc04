"""The events of `POST /v2/chat`, by their `type`.

Source: https://docs.cohere.com/reference/chat-stream, https://docs.cohere.com/docs/streaming, the types of
the `cohere` package 7.3.1, and recorded streams.

Undocumented behavior, and differences between servers:

- The index of a tool call counts calls, and the index of content counts blocks; each starts at 0. An event
  without an index belongs to the block or call that started last.
- `tool_calls` and `citations` are objects in a stream, but lists in a non-streaming answer.
- `tool_plan` is the model's reasoning before it calls tools, in a field next to the content. It becomes
  thinking, because Cohere calls it a reflection, and it is not an answer to the user.
- A call without parameters has no fragment, or the text `null` (vercel/ai#4755), which means `{}`.
- A citation belongs to the text that started last, even after that text's end. A citation with several
  sources becomes several citations in the normal form.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.decoding.fields import read_text
from streamconform_reference.outcome import ProseKind

from .citations import read_citations
from .fields import require_object
from .terminal import end_answer, read_counts, set_stop

# The block kind of each content type; the type is also the key of its text.
PROSE: Final[Mapping[str, ProseKind]] = {"text": "text", "thinking": "thinking"}
_NO_ARGUMENTS: Final = "null"
_NOT_OF_TEXT: Final = frozenset({"THINKING_CONTENT", "PLAN"})
"""The citation types whose positions refer to the thinking or the plan."""


class V2Stream:
    """One v2 answer, and the slots of its blocks."""

    def __init__(self, message: Assembler) -> None:
        """Start with no events."""
        self.message = message
        self._started = 0
        self._current: dict[str, Hashable] = {}  # the latest slot of `content`, `call` and `plan`
        self.text_slot: Hashable = ("content", None)
        """The slot of the latest text."""

    def start_slot(self, kind: str, payload: Payload) -> Hashable:
        """Return the slot for a block that starts with this event."""
        self._started += 1
        index = payload.get("index")
        slot = (kind, index) if type(index) is int else (kind, "unnumbered", self._started)
        self._current[kind] = slot
        return slot

    def find_slot(self, kind: str, payload: Payload) -> Hashable:
        """Return the slot that a delta or an end event belongs to."""
        index = payload.get("index")
        return (kind, index) if type(index) is int else self._current.get(kind, (kind, None))

    def append_plan(self, fragment: str) -> None:
        """Append to the plan; the first text starts it."""
        if fragment:
            if "plan" not in self._current:
                self.start_slot("plan", {})
            self.message.add(self._current["plan"], "thinking", fragment)

    def end_plan(self) -> None:
        """End the plan; later plan text starts another one."""
        self.message.end(self._current.pop("plan", None))


Handler = Callable[[V2Stream, Payload], None]


def on_message_start(stream: V2Stream, payload: Payload) -> None:
    """Read the id."""
    stream.message.begin(model=None, response_id=read_text(payload, "id"))


def on_content_start(stream: V2Stream, payload: Payload) -> None:
    """Start a text or thinking block, with the text in its start event."""
    content = require_object(payload, "delta", "message", "content")
    kind = read_text(content, "type")
    slot = stream.start_slot("content", payload)
    if kind in PROSE:
        stream.message.start(slot, PROSE[kind], read_text(content, kind))
        stream.text_slot = slot if kind == "text" else stream.text_slot
    elif kind:
        stream.message.add_other(kind, content, slot=slot)


def on_content_delta(stream: V2Stream, payload: Payload) -> None:
    """Append to a block; the key distinguishes text from thinking."""
    content = require_object(payload, "delta", "message", "content")
    slot = stream.find_slot("content", payload)
    for key, kind in PROSE.items():
        text = read_text(content, key)
        stream.message.add(slot, kind, text)
        stream.text_slot = slot if text and kind == "text" else stream.text_slot


def on_content_end(stream: V2Stream, payload: Payload) -> None:
    """End a block."""
    stream.message.end(stream.find_slot("content", payload))


def on_tool_plan_delta(stream: V2Stream, payload: Payload) -> None:
    """Append to the plan."""
    stream.append_plan(read_text(require_object(payload, "delta", "message"), "tool_plan"))


def on_tool_call_start(stream: V2Stream, payload: Payload) -> None:
    """Start a tool call; the plan before it ends."""
    call = require_object(payload, "delta", "message", "tool_calls")
    function = require_object(call, "function")
    stream.end_plan()
    slot = stream.start_slot("call", payload)
    stream.message.start_call(slot, id=read_text(call, "id"), name=read_text(function, "name"))
    _add_arguments(stream, slot, function.get("arguments"))


def on_tool_call_delta(stream: V2Stream, payload: Payload) -> None:
    """Append a fragment to a call's arguments."""
    function = require_object(payload, "delta", "message", "tool_calls", "function")
    _add_arguments(stream, stream.find_slot("call", payload), function.get("arguments"))


def on_tool_call_end(stream: V2Stream, payload: Payload) -> None:
    """End a tool call."""
    slot = stream.find_slot("call", payload)
    if stream.message.text(slot).strip() == _NO_ARGUMENTS:
        stream.message.settle_arguments(slot, "")
    stream.message.end(slot)


def on_citation_start(stream: V2Stream, payload: Payload) -> None:
    """Add a citation, which is complete at its start."""
    citation = require_object(payload, "delta", "message", "citations")
    if citation.get("type") in _NOT_OF_TEXT:
        stream.message.add_other("citation", citation)
    else:
        stream.message.cite(stream.text_slot, read_citations(citation))


def on_message_end(stream: V2Stream, payload: Payload) -> None:
    """End the answer with its stop reason and usage; this is the terminal event."""
    delta = require_object(payload, "delta")
    raw = read_text(delta, "finish_reason")
    set_stop(stream.message, raw)
    if delta.get("usage") is not None:
        stream.message.report_usage(read_counts(require_object(delta, "usage")))
    end_answer(stream.message, raw, delta)


HANDLERS: Final[Mapping[str, Handler]] = {
    "message-start": on_message_start,
    "content-start": on_content_start,
    "content-delta": on_content_delta,
    "content-end": on_content_end,
    "tool-plan-delta": on_tool_plan_delta,
    "tool-call-start": on_tool_call_start,
    "tool-call-delta": on_tool_call_delta,
    "tool-call-end": on_tool_call_end,
    "citation-start": on_citation_start,
    "message-end": on_message_end,
}


def _add_arguments(stream: V2Stream, slot: Hashable, arguments: Any) -> None:
    if isinstance(arguments, str):
        if arguments:
            stream.message.add_arguments(slot, arguments)
    elif isinstance(arguments, dict):
        stream.message.settle_arguments(slot, arguments)
    elif arguments is not None:
        raise BrokenPayloadError("`arguments` is neither text nor an object")
