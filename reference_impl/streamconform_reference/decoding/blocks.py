"""Growing content blocks; `value` returns the frozen block of `outcome` at any time.

`flush` returns the events that a block has held back; `end`, which may only be called on an open block,
returns those and the block's end event. Half a character at the end of a broken answer is dropped: its other
half did not arrive.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct, field

from streamconform_reference.decoding.fragments import Fragments
from streamconform_reference.events import (
    Event,
    ProseDelta,
    TextEnd,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import (
    Block,
    Citation,
    Executor,
    Json,
    Other,
    ProseKind,
    Refusal,
    Text,
    Thinking,
    ToolCall,
)


class CallIds:
    """Makes call ids unique within one answer."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        """Start with no ids."""
        self._taken: dict[str, int] = {}

    def take(self, call_id: str) -> str:
        """Return the id, with the first free number from 2 appended if the id is taken."""
        unique = call_id
        while unique in self._taken:
            # Continue with the last number, so that many equal ids take linear time.
            self._taken[call_id] += 1
            unique = f"{call_id}_{self._taken[call_id]}"
        self._taken[unique] = 1
        return unique


class ProseBlock(Struct, kw_only=True):
    """A growing text, thinking or refusal block."""

    position: int
    kind: ProseKind
    phase: str | None = None
    signature: str | None = None
    redacted: bool = False
    citations: list[Citation] = []
    echo: Json = {}
    open: bool = True
    fragments: Fragments = field(default_factory=Fragments)

    def flush(self, *, whole: bool = True) -> list[Event]:
        """Emit a high surrogate that was waiting for its low surrogate, unless the answer broke."""
        half = self.fragments.flush() if whole else ""
        return [ProseDelta(self.position, self.kind, half)] if half else []

    def end(self) -> list[Event]:
        """Close the block and emit its end event."""
        events = self.flush()
        self.open = False
        text = self.fragments.text()
        if self.kind == "thinking":
            events.append(ThinkingEnd(self.position, text, self.signature, self.redacted))
        else:
            events.append(TextEnd(self.position, self.kind, text, self.signature))
        return events

    def value(self) -> Block:
        """Return the block so far."""
        text = self.fragments.text()
        if self.kind == "thinking":
            return Thinking(
                text=text, signature=self.signature, redacted=self.redacted, echo=self.echo or None
            )
        if self.kind == "refusal":
            return Refusal(text)
        return Text(text, self.phase, self.signature, tuple(self.citations), self.echo or None)


class CallBlock(Struct, kw_only=True):
    """A growing tool call.

    `ids` contains the ids used in the entire answer. `announced` says whether the start event was emitted,
    which makes the id and name final. `initial_arguments` are the arguments in the start frame. With
    `free_text`, the arguments are the text itself, not JSON. `final_text` is the complete text that the API
    repeated, if it contradicts the fragments. `complete` says whether the end event was emitted: a call that
    ended with unparseable text waits for the stop reason.
    """

    kind: ClassVar = "tool_call"

    position: int
    ids: CallIds
    executor: Executor
    initial_arguments: Any
    id: str = ""
    name: str = ""
    free_text: bool = False
    signature: str | None = None
    echo: Json = {}
    final_text: str | None = None
    announced: bool = False
    open: bool = True
    complete: bool = False
    arguments: Any = None
    has_fragments: bool = False
    fragments: Fragments = field(default_factory=Fragments)

    def describe(self, call_id: str | None, name: str) -> None:
        """Set the id (the first one wins) and the name; empty values are ignored."""
        self.id = self.id or (self.ids.take(call_id) if call_id else "")
        self.name = name or self.name

    def announce(self) -> list[Event]:
        """Emit the start event, and the text so far; a call without an id gets one."""
        self.announced = True
        self.id = self.id or self.ids.take(f"call_{self.position}")
        events: list[Event] = [
            ToolCallStart(self.position, self.id, self.name, self.executor, self.free_text, self.signature)
        ]
        text = self.fragments.text()
        if text:
            events.append(ToolCallDelta(self.position, text))
        return events

    def flush(self, *, whole: bool = True) -> list[Event]:
        """Emit the start event if pending, and a waiting high surrogate, unless the answer broke."""
        events = [] if self.announced else self.announce()
        half = self.fragments.flush() if whole else ""
        if half:
            events.append(ToolCallDelta(self.position, half))
        return events

    def end(self) -> list[Event]:
        """Close the call; emit its end event unless its text cannot be parsed."""
        events = self.flush()
        self.open = False
        if self.parse():
            events.append(self.release())
        return events

    def release(self) -> Event:
        """Complete the call, with or without arguments, and return its end event."""
        self.complete = True
        return ToolCallEnd(self.position, self.value())

    def parse(self) -> bool:
        """Set the arguments from the text; return whether the text was JSON.

        Empty or blank text means the arguments of the start frame, or `{}` if there were none. If the text is
        not JSON, the arguments stay None; nothing is repaired.
        """
        text = self.fragments.text() if self.final_text is None else self.final_text
        if self.free_text:
            self.arguments = text
            return True
        if not text.strip():
            self.arguments = {} if self.initial_arguments is None else self.initial_arguments
            return True
        try:
            self.arguments = codec.loads_text(text)
        except codec.NotJsonError:
            return False
        return True

    def value(self) -> ToolCall:
        """Return the call so far."""
        return ToolCall(
            id=self.id,
            name=self.name,
            # The arguments are set only at the end, because a call that can still change must not run.
            arguments=self.arguments if self.complete else None,
            # In an API that sends arguments as an object, such as Gemini's, they have no text.
            arguments_text=self.fragments.text() if self.has_fragments else None,
            complete=self.complete,
            executor=self.executor,
            signature=self.signature,
            echo=self.echo or None,
        )


class OtherBlock(Struct, kw_only=True):
    """A block of type `other`; when it grows, `data` is replaced."""

    kind: ClassVar = "other"

    position: int
    data_kind: str
    data: Any
    open: bool = True

    def flush(self, *, whole: bool = True) -> list[Event]:
        """Return no events: the normal form has none for this block."""
        del whole
        return []

    def end(self) -> list[Event]:
        """Close the block; it has no end event."""
        self.open = False
        return []

    def value(self) -> Other:
        """Return the block so far."""
        return Other(self.data_kind, self.data)


GrowingBlock = ProseBlock | CallBlock | OtherBlock
