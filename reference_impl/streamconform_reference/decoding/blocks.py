"""Content blocks while they grow: pieces in, the frozen block of `outcome` out at any time.

A block knows the events that tell what is left of it: `flush` returns those that waited, and `end`,
which is for an open block, those and its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

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
    Executor,
    Other,
    ProseKind,
    Refusal,
    Text,
    Thinking,
    ToolCall,
)


class CallIds:
    """The ids of the calls of one answer, each of which is there once."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        """Begin with no id taken."""
        self._taken: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return the id itself, or with the first free number from 2 behind it."""
        unique = wanted
        while unique in self._taken:
            self._taken[wanted] += 1
            unique = f"{wanted}_{self._taken[wanted]}"
        self._taken[unique] = 1
        return unique


@dataclass(slots=True, kw_only=True)
class ProseBlock:
    """A growing block of text, thinking or refusal."""

    position: int
    kind: ProseKind
    signature: str | None = None
    redacted: bool = False
    open: bool = True
    fragments: Fragments = field(default_factory=Fragments)

    def flush(self) -> list[Event]:
        """Tell the half of a character that waited for its other half."""
        half = self.fragments.flush()
        return [ProseDelta(self.position, self.kind, half)] if half else []

    def end(self) -> list[Event]:
        """Close the block and tell its end."""
        events = self.flush()
        self.open = False
        text = self.fragments.text()
        if self.kind == "thinking":
            events.append(ThinkingEnd(self.position, text, self.signature, self.redacted))
        else:
            events.append(TextEnd(self.position, self.kind, text))
        return events

    def value(self) -> Block:
        """Return the block so far."""
        text = self.fragments.text()
        if self.kind == "thinking":
            return Thinking(text=text, signature=self.signature, redacted=self.redacted)
        return Text(text) if self.kind == "text" else Refusal(text)


@dataclass(slots=True, kw_only=True)
class CallBlock:
    """A growing tool call.

    `ids` are those of the whole answer. `told` is whether its start was passed on, so that id and
    name are final. `carried` is the arguments that its start had. `free_text` says that the text
    is no JSON but the arguments themselves. `whole` is their text as the api repeated it, where it
    contradicts the fragments. `complete` is whether its end was passed on: a call that ended with
    text that does not parse waits for the stop reason.
    """

    kind: ClassVar = "tool_call"

    position: int
    ids: CallIds
    executor: Executor
    carried: Any
    id: str = ""
    name: str = ""
    free_text: bool = False
    whole: str | None = None
    told: bool = False
    open: bool = True
    complete: bool = False
    arguments: Any = None
    fragmented: bool = False
    fragments: Fragments = field(default_factory=Fragments)

    def describe(self, call_id: str | None, name: str) -> None:
        """Take an id, of which the first one stays, and a name; empty ones say nothing."""
        self.id = self.id or (self.ids.take(call_id) if call_id else "")
        self.name = name or self.name

    def tell(self) -> list[Event]:
        """Tell the start, and the text that came before; a call without an id gets one."""
        self.told = True
        self.id = self.id or self.ids.take(f"call_{self.position}")
        events: list[Event] = [
            ToolCallStart(self.position, self.id, self.name, self.executor, self.free_text)
        ]
        text = self.fragments.text()
        if text:
            events.append(ToolCallDelta(self.position, text))
        return events

    def flush(self) -> list[Event]:
        """Tell the start where it was not told, and the half that waited for its other half."""
        events = [] if self.told else self.tell()
        half = self.fragments.flush()
        if half:
            events.append(ToolCallDelta(self.position, half))
        return events

    def end(self) -> list[Event]:
        """Close the call, and tell its end unless its text does not parse."""
        events = self.flush()
        self.open = False
        if self.parse():
            events.append(self.release())
        return events

    def release(self) -> Event:
        """Complete the call, with arguments or without, and tell its end."""
        self.complete = True
        return ToolCallEnd(self.position, self.value())

    def parse(self) -> bool:
        """Settle the arguments from text and start; return whether the text was JSON.

        Text that is empty or blank stands for what the start carried, else for `{}`. Text that is
        not JSON leaves the arguments None: nothing is repaired.
        """
        text = self.fragments.text() if self.whole is None else self.whole
        if self.free_text:
            self.arguments = text
            return True
        if not text.strip():
            self.arguments = {} if self.carried is None else self.carried
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
            arguments=self.arguments if self.complete else None,
            arguments_text=self.fragments.text() if self.fragmented else None,
            complete=self.complete,
            executor=self.executor,
        )


@dataclass(slots=True, kw_only=True)
class OtherBlock:
    """A block without a common form; `data` is replaced as a whole when it grows."""

    kind: ClassVar = "other"

    position: int
    what: str
    data: Any
    open: bool = True

    def flush(self) -> list[Event]:
        """Tell nothing: no event says what this block is."""
        return []

    def end(self) -> list[Event]:
        """Close the block; no event tells that either."""
        self.open = False
        return []

    def value(self) -> Other:
        """Return the block so far."""
        return Other(self.what, self.data)


GrowingBlock = ProseBlock | CallBlock | OtherBlock
