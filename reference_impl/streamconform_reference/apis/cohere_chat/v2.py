"""The events of `POST /v2/chat`, by their `type`.

Source: https://docs.cohere.com/reference/chat-stream, https://docs.cohere.com/docs/streaming, the types of
the `cohere` package 7.3.1, and recorded streams.

Undocumented behavior, and differences between servers:

- The index of a tool call counts calls, that of content counts blocks: each starts at 0. An event
  without an index belongs to the block or call that started last.
- `tool_calls` and `citations` are objects in a stream, and lists without streaming.
- `tool_plan` is the model's reasoning before it calls tools, a field next to the content. It becomes
  thinking: Cohere calls it a reflection, and it is not an answer to the user.
- A call without parameters has no fragment, or the text `null` (vercel/ai#4755), which means `{}`.
- A citation becomes an `other` block at the position where it arrived, after the text. Its data is the
  citation as sent, its `kind` is `citation`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.decoding.fields import text
from streamconform_reference.outcome import ProseKind

from .fields import part
from .terminal import read_counts, take_end, take_reason

# The block kind of each content type; the type is also the key of its text.
PROSE: Final[Mapping[str, ProseKind]] = {"text": "text", "thinking": "thinking"}
_NO_ARGUMENTS: Final = "null"


class V2Stream:
    """One answer of v2, and the slots of its blocks."""

    def __init__(self, message: Assembler) -> None:
        """Start before the first event."""
        self.message = message
        self._begun = 0
        self._current: dict[str, Hashable] = {}  # the latest slot of `content`, `call` and `plan`

    def began(self, what: str, payload: Payload) -> Hashable:
        """Return the slot of a block that starts with this event."""
        self._begun += 1
        index = payload.get("index")
        slot = (what, index) if type(index) is int else (what, "unnumbered", self._begun)
        self._current[what] = slot
        return slot

    def slot(self, what: str, payload: Payload) -> Hashable:
        """Return the slot that a delta or an end belongs to."""
        index = payload.get("index")
        return (what, index) if type(index) is int else self._current.get(what, (what, None))

    def plan(self, words: str) -> None:
        """Append to the plan; its first text starts it."""
        if words:
            if "plan" not in self._current:
                self.began("plan", {})
            self.message.add(self._current["plan"], "thinking", words)

    def end_plan(self) -> None:
        """End the plan; later plan text starts another one."""
        self.message.end(self._current.pop("plan", None))


Handler = Callable[[V2Stream, Payload], None]


def on_message_start(stream: V2Stream, payload: Payload) -> None:
    """Read the id."""
    stream.message.begin(model=None, response_id=text(payload, "id"))


def on_content_start(stream: V2Stream, payload: Payload) -> None:
    """Start a block of text or thinking, with the text that its start contains."""
    content = part(payload, "delta", "message", "content")
    kind = text(content, "type")
    slot = stream.began("content", payload)
    if kind in PROSE:
        stream.message.start(slot, PROSE[kind], text(content, kind))
    elif kind:
        stream.message.put_other(kind, content, slot=slot)


def on_content_delta(stream: V2Stream, payload: Payload) -> None:
    """Append to a block; the key distinguishes text from thinking."""
    content = part(payload, "delta", "message", "content")
    slot = stream.slot("content", payload)
    for key, kind in PROSE.items():
        stream.message.add(slot, kind, text(content, key))


def on_content_end(stream: V2Stream, payload: Payload) -> None:
    """End a block."""
    stream.message.end(stream.slot("content", payload))


def on_tool_plan_delta(stream: V2Stream, payload: Payload) -> None:
    """Append to the plan."""
    stream.plan(text(part(payload, "delta", "message"), "tool_plan"))


def on_tool_call_start(stream: V2Stream, payload: Payload) -> None:
    """Start a tool call; the plan before it ends."""
    call = part(payload, "delta", "message", "tool_calls")
    function = part(call, "function")
    stream.end_plan()
    slot = stream.began("call", payload)
    stream.message.start_call(slot, id=text(call, "id"), name=text(function, "name"))
    _add_arguments(stream, slot, function.get("arguments"))


def on_tool_call_delta(stream: V2Stream, payload: Payload) -> None:
    """Append a fragment to a call's arguments."""
    function = part(payload, "delta", "message", "tool_calls", "function")
    _add_arguments(stream, stream.slot("call", payload), function.get("arguments"))


def on_tool_call_end(stream: V2Stream, payload: Payload) -> None:
    """End a tool call."""
    slot = stream.slot("call", payload)
    if stream.message.text(slot).strip() == _NO_ARGUMENTS:
        stream.message.settle_arguments(slot, "")
    stream.message.end(slot)


def on_citation_start(stream: V2Stream, payload: Payload) -> None:
    """Add a citation, which is whole at its start."""
    stream.message.put_other("citation", part(payload, "delta", "message", "citations"))


def on_message_end(stream: V2Stream, payload: Payload) -> None:
    """End the answer with its stop reason and usage: this is the terminal event."""
    delta = part(payload, "delta")
    raw = text(delta, "finish_reason")
    take_reason(stream.message, raw)
    if delta.get("usage") is not None:
        stream.message.report_usage(read_counts(part(delta, "usage")))
    take_end(stream.message, raw, delta)


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
