"""Write the events for output items, from an item's start to its end.

Each method returns events as pairs of type and fields, without sequence numbers. `end` stores in `done` the
item that the finished response repeats.

Source: https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from streamconform_reference.outcome import Json

EventFields = tuple[str, Json]
Kind = Literal["text", "refusal"]
Status = Literal["completed", "incomplete"]

_NAMES: Final = frozenset({"id", "type", "call_id", "name", "server_label", "execution", "environment"})
"""The fields of an item that are known at its start."""


@dataclass(slots=True, kw_only=True)
class _Item:
    """The state of an item: its id, its index in the output, and the pieces of its text."""

    id: str
    index: int
    pieces: list[str] = field(default_factory=list)
    done: Json | None = None

    @property
    def text(self) -> str:
        """Return the text so far."""
        return "".join(self.pieces)

    @property
    def _about(self) -> Json:
        return {"item_id": self.id, "output_index": self.index}

    def _added(self, item: Json) -> EventFields:
        return "response.output_item.added", {"output_index": self.index, "item": {"id": self.id, **item}}

    def _finished(self, item: Json) -> EventFields:
        self.done = {"id": self.id, **item}
        return "response.output_item.done", {"output_index": self.index, "item": self.done}


@dataclass(slots=True, kw_only=True)
class MessageItem(_Item):
    """A message with one part: text or a refusal, and the citations of the text."""

    kind: Kind
    phase: str | None = None
    citations: list[Json] = field(default_factory=list)

    def begin(self) -> list[EventFields]:
        """Return the events that start the item and its part."""
        return [
            self._added(self._message("in_progress", [])),
            ("response.content_part.added", {**self._part_at, "part": self._part("")}),
        ]

    def add(self, delta: str) -> list[EventFields]:
        """Return the event for a text delta."""
        self.pieces.append(delta)
        return [(f"response.{self._name}.delta", {**self._part_at, "delta": delta, **self._extras})]

    def add_citation(self, citation: Json) -> list[EventFields]:
        """Return the event for a citation."""
        about = {**self._part_at, "annotation_index": len(self.citations), "annotation": citation}
        self.citations.append(citation)
        return [("response.output_text.annotation.added", about)]

    def end(self, status: Status) -> list[EventFields]:
        """Return the events with the complete text, part and item."""
        key = "text" if self.kind == "text" else "refusal"
        part = self._part(self.text)
        return [
            (f"response.{self._name}.done", {**self._part_at, key: self.text, **self._extras}),
            ("response.content_part.done", {**self._part_at, "part": part}),
            self._finished(self._message(status, [part])),
        ]

    def _message(self, status: str, content: list[Json]) -> Json:
        phase = {} if self.phase is None else {"phase": self.phase}
        return {"type": "message", "status": status, "role": "assistant", **phase, "content": content}

    @property
    def _name(self) -> str:
        return "output_text" if self.kind == "text" else "refusal"

    @property
    def _part_at(self) -> Json:
        return {**self._about, "content_index": 0}

    @property
    def _extras(self) -> Json:
        return {"logprobs": []} if self.kind == "text" else {}

    def _part(self, text: str) -> Json:
        if self.kind == "refusal":
            return {"type": "refusal", "refusal": text}
        return {"type": "output_text", "text": text, "annotations": [*self.citations], "logprobs": []}


@dataclass(slots=True, kw_only=True)
class ReasoningItem(_Item):
    """Reasoning, with its text as one part of the summary. Without text, the summary has no parts."""

    def begin(self) -> list[EventFields]:
        """Return the event that starts the item."""
        return [self._added({"type": "reasoning", "summary": []})]

    def add(self, delta: str) -> list[EventFields]:
        """Return the events for a summary delta; the first delta also starts the part."""
        kind = "response.reasoning_summary_part.added"
        start_events: list[EventFields] = (
            [] if self.pieces else [(kind, {**self._part_at, "part": self._part("")})]
        )
        self.pieces.append(delta)
        return [*start_events, ("response.reasoning_summary_text.delta", {**self._part_at, "delta": delta})]

    def end(self, signature: str | None) -> list[EventFields]:
        """Return the events with the complete text, the part and the signed item."""
        parts = [self._part(self.text)] if self.pieces else []
        signature_field = {} if signature is None else {"encrypted_content": signature}
        item = {"type": "reasoning", "summary": parts, **signature_field}
        end_events: list[EventFields] = [
            events
            for part in parts
            for events in (
                ("response.reasoning_summary_text.done", {**self._part_at, "text": self.text}),
                ("response.reasoning_summary_part.done", {**self._part_at, "part": part}),
            )
        ]
        return [*end_events, self._finished(item)]

    @property
    def _part_at(self) -> Json:
        return {**self._about, "summary_index": 0}

    @staticmethod
    def _part(text: str) -> Json:
        return {"type": "summary_text", "text": text}


@dataclass(slots=True, kw_only=True)
class CallItem(_Item):
    """A call to one of the client's functions, or to a tool that takes free text."""

    call_id: str
    name: str
    free_text: bool = False

    def begin(self) -> list[EventFields]:
        """Return the event that starts the item."""
        return [self._added(self._item("in_progress"))]

    def add(self, delta: str) -> list[EventFields]:
        """Return the event for an arguments fragment."""
        self.pieces.append(delta)
        return [(f"response.{self._form[1]}.delta", {**self._about, "delta": delta})]

    def end(self, status: Status) -> list[EventFields]:
        """Return the event with the item, preceded by one with the arguments unless they are truncated."""
        _, event, key = self._form
        name_field = {} if self.free_text else {"name": self.name}
        whole = {**self._about, key: self.text, **name_field}
        events: list[EventFields] = [(f"response.{event}.done", whole)] if status == "completed" else []
        return [*events, self._finished(self._item(status))]

    def _item(self, status: str) -> Json:
        kind, _, key = self._form
        return {
            "type": kind,
            "status": status,
            "call_id": self.call_id,
            "name": self.name,
            key: self.text,
        }

    @property
    def _form(self) -> tuple[str, str, str]:
        """The item's type, the name of its events, and the field that contains its text."""
        if self.free_text:
            return "custom_tool_call", "custom_tool_call_input", "input"
        return "function_call", "function_call_arguments", "arguments"


def write_whole_item(index: int, item: Json) -> list[EventFields]:
    """Return the events of a complete item: a start with some of its fields, and an end with all of them."""
    started = {key: value for key, value in item.items() if key in _NAMES}
    start_events = {"status": "in_progress"} if "status" in item else {}
    return [
        ("response.output_item.added", {"output_index": index, "item": {**started, **start_events}}),
        ("response.output_item.done", {"output_index": index, "item": item}),
    ]
