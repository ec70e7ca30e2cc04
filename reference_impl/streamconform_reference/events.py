"""The events of a live answer. `to_json` returns an event in the normal form.

`content_index` is the position of the block in the outcome's content. The last event of an answer
is `Done` or `Failed`.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .outcome import Cost, Error, Executor, Json, ProseKind, Stop, ToolCall, Usage


class ProseStart(Struct, frozen=True):
    """A text, thinking or refusal block starts."""

    content_index: int
    kind: ProseKind
    phase: str | None = None
    """The phase of the text, for encoders; the event's normal form omits it."""

    def to_json(self) -> Json:
        """Return the event in the normal form."""
        return {"type": f"{self.kind}_start", "content_index": self.content_index}


class ProseDelta(Struct, frozen=True):
    """The next part of a text, thinking or refusal block; never empty."""

    content_index: int
    kind: ProseKind
    delta: str

    def to_json(self) -> Json:
        """Return the event in the normal form."""
        return {
            "type": f"{self.kind}_delta",
            "content_index": self.content_index,
            "delta": self.delta,
        }


class TextEnd(Struct, frozen=True):
    """A text or refusal block ends; `text` is its complete text."""

    content_index: int
    kind: Literal["text", "refusal"]
    text: str
    signature: str | None = None
    """The signature of the text, for encoders; the event's normal form omits it."""

    def to_json(self) -> Json:
        """Return the event in the normal form."""
        return {
            "type": f"{self.kind}_end",
            "content_index": self.content_index,
            "text": self.text,
        }


class ThinkingEnd(Struct, frozen=True):
    """A thinking block ends; `text` is its complete text."""

    content_index: int
    text: str
    signature: str | None
    redacted: bool

    def to_json(self) -> Json:
        """Return the event in the normal form."""
        return {
            "type": "thinking_end",
            "content_index": self.content_index,
            "text": self.text,
            "signature": self.signature,
            "redacted": self.redacted,
        }


class ToolCallStart(Struct, frozen=True):
    """A tool call starts; its id and name are final.

    `executor`, `free_text` (the arguments are the text itself, not JSON) and `signature` (if known) are for
    encoders; the event's normal form omits them.
    """

    content_index: int
    id: str
    name: str
    executor: Executor = "client"
    free_text: bool = False
    signature: str | None = None

    def to_json(self) -> Json:
        """Return the event in the normal form."""
        return {
            "type": "toolcall_start",
            "content_index": self.content_index,
            "id": self.id,
            "name": self.name,
        }


class ToolCallDelta(Struct, frozen=True):
    """The next fragment of the arguments' text; never empty, and usually not JSON by itself."""

    content_index: int
    delta: str

    def to_json(self) -> Json:
        """Return the event in the normal form."""
        return {
            "type": "toolcall_delta",
            "content_index": self.content_index,
            "delta": self.delta,
        }


class ToolCallEnd(Struct, frozen=True):
    """A tool call ends; `tool_call` equals the block in the outcome."""

    content_index: int
    tool_call: ToolCall

    def to_json(self) -> Json:
        """Return the event in the normal form."""
        return {
            "type": "toolcall_end",
            "content_index": self.content_index,
            "tool_call": self.tool_call.to_json(),
        }


class UsageUpdate(Struct, frozen=True):
    """The usage so far, after each usage report."""

    usage: Usage
    cost: Cost | None

    def to_json(self) -> Json:
        """Return the event in the normal form."""
        return {
            "type": "usage",
            "usage": self.usage.to_json(),
            "cost": self.cost and self.cost.to_json(),
        }


class Done(Struct, frozen=True):
    """The answer is complete."""

    stop: Stop

    def to_json(self) -> Json:
        """Return the event in the normal form."""
        return {"type": "done", "stop": self.stop.to_json()}


class Failed(Struct, frozen=True):
    """The answer cannot complete; `error` is None if the stream was merely cut off."""

    status: Literal["incomplete", "error"]
    error: Error | None

    def to_json(self) -> Json:
        """Return the event in the normal form."""
        return {
            "type": "error",
            "status": self.status,
            "error": self.error and self.error.to_json(),
        }


Event = (
    ProseStart
    | ProseDelta
    | TextEnd
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | UsageUpdate
    | Done
    | Failed
)
