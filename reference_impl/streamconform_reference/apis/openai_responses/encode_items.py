"""Output items as they are written: the events of one item, from its start to its end.

Each method returns what is to be told, as the type of an event and its fields without a number. The item
that `end` leaves in `done` is what the finished response repeats.

Source: https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from streamconform_reference.outcome import Json

Told = tuple[str, Json]
Kind = Literal["text", "refusal"]
Status = Literal["completed", "incomplete"]

_NAMES: Final = frozenset({"id", "type", "call_id", "name", "server_label", "execution", "environment"})
"""What of an item is known when it begins."""


@dataclass(slots=True, kw_only=True)
class _Item:
    """What all items have: an id, a place in the output, the pieces of their text."""

    id: str
    index: int
    pieces: list[str] = field(default_factory=list)
    done: Json | None = None

    @property
    def text(self) -> str:
        """Return what was added so far."""
        return "".join(self.pieces)

    @property
    def _about(self) -> Json:
        return {"item_id": self.id, "output_index": self.index}

    def _added(self, item: Json) -> Told:
        return "response.output_item.added", {"output_index": self.index, "item": {"id": self.id, **item}}

    def _finished(self, item: Json) -> Told:
        self.done = {"id": self.id, **item}
        return "response.output_item.done", {"output_index": self.index, "item": self.done}


@dataclass(slots=True, kw_only=True)
class MessageItem(_Item):
    """A message with one part: text or a refusal, and the citations of the text."""

    kind: Kind
    citations: list[Json] = field(default_factory=list)

    def begin(self) -> list[Told]:
        """Tell the item and its part."""
        return [
            self._added({"type": "message", "status": "in_progress", "role": "assistant", "content": []}),
            ("response.content_part.added", {**self._part_at, "part": self._part("")}),
        ]

    def add(self, delta: str) -> list[Told]:
        """Tell a piece of the text."""
        self.pieces.append(delta)
        return [(f"response.{self._name}.delta", {**self._part_at, "delta": delta, **self._extras})]

    def cite(self, citation: Json) -> list[Told]:
        """Tell a citation."""
        about = {**self._part_at, "annotation_index": len(self.citations), "annotation": citation}
        self.citations.append(citation)
        return [("response.output_text.annotation.added", about)]

    def end(self, status: Status) -> list[Told]:
        """Tell the whole text, the part and the item."""
        key = "text" if self.kind == "text" else "refusal"
        part = self._part(self.text)
        item = {"type": "message", "status": status, "role": "assistant", "content": [part]}
        return [
            (f"response.{self._name}.done", {**self._part_at, key: self.text, **self._extras}),
            ("response.content_part.done", {**self._part_at, "part": part}),
            self._finished(item),
        ]

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
    """Reasoning, its text as one part of the summary. Without text it has no part."""

    def begin(self) -> list[Told]:
        """Tell the item."""
        return [self._added({"type": "reasoning", "summary": []})]

    def add(self, delta: str) -> list[Told]:
        """Tell a piece of the summary, and its part before the first."""
        kind = "response.reasoning_summary_part.added"
        begun: list[Told] = [] if self.pieces else [(kind, {**self._part_at, "part": self._part("")})]
        self.pieces.append(delta)
        return [*begun, ("response.reasoning_summary_text.delta", {**self._part_at, "delta": delta})]

    def end(self, signature: str | None) -> list[Told]:
        """Tell the whole text, the part and the item with what has to be sent back."""
        parts = [self._part(self.text)] if self.pieces else []
        sealed = {} if signature is None else {"encrypted_content": signature}
        item = {"type": "reasoning", "summary": parts, **sealed}
        ended: list[Told] = [
            told
            for part in parts
            for told in (
                ("response.reasoning_summary_text.done", {**self._part_at, "text": self.text}),
                ("response.reasoning_summary_part.done", {**self._part_at, "part": part}),
            )
        ]
        return [*ended, self._finished(item)]

    @property
    def _part_at(self) -> Json:
        return {**self._about, "summary_index": 0}

    @staticmethod
    def _part(text: str) -> Json:
        return {"type": "summary_text", "text": text}


@dataclass(slots=True, kw_only=True)
class CallItem(_Item):
    """A call of a function of the client's, or of a tool that takes free text."""

    call_id: str
    name: str
    free_text: bool = False

    def begin(self) -> list[Told]:
        """Tell the item."""
        return [self._added(self._item("in_progress"))]

    def add(self, delta: str) -> list[Told]:
        """Tell a fragment of the arguments."""
        self.pieces.append(delta)
        return [(f"response.{self._form[1]}.delta", {**self._about, "delta": delta})]

    def end(self, status: Status) -> list[Told]:
        """Tell the item, and its whole arguments unless it was cut off."""
        _, event, key = self._form
        named = {} if self.free_text else {"name": self.name}
        whole = {**self._about, key: self.text, **named}
        told: list[Told] = [(f"response.{event}.done", whole)] if status == "completed" else []
        return [*told, self._finished(self._item(status))]

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
        """The type of the item, what its events are called, and the field with its text."""
        if self.free_text:
            return "custom_tool_call", "custom_tool_call_input", "input"
        return "function_call", "function_call_arguments", "arguments"


def whole_item(index: int, item: Json) -> list[Told]:
    """Tell an item that comes in one piece: at its start what it is, at its end all of it."""
    started = {key: value for key, value in item.items() if key in _NAMES}
    begun = {"status": "in_progress"} if "status" in item else {}
    return [
        ("response.output_item.added", {"output_index": index, "item": {**started, **begun}}),
        ("response.output_item.done", {"output_index": index, "item": item}),
    ]
