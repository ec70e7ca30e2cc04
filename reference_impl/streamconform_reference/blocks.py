"""Content blocks while they grow: pieces in, the frozen block of `outcome` out at any time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from . import json_codec
from .outcome import Block, Executor, Other, ProseKind, Refusal, Text, Thinking, ToolCall

_FIRST_SURROGATE: Final = "\ud800"
_LAST_HIGH_SURROGATE: Final = "\udbff"


class Fragments:
    """Text that arrives in pieces; a surrogate pair that is cut between two pieces is kept whole.

    Gateways written in JavaScript cut strings between UTF-16 units, so a delta may end in half an
    emoji.
    """

    __slots__ = ("_half", "_parts")

    def __init__(self) -> None:
        """Begin with no text."""
        self._parts: list[str] = []
        self._half = ""

    def add(self, piece: str) -> str:
        """Take a non-empty piece; return what can be passed on now, perhaps nothing."""
        if self._half or piece[-1] >= _FIRST_SURROGATE:
            piece, self._half = _whole_pairs(self._half + piece)
            if not piece:
                return piece
        self._parts.append(piece)
        return piece

    def flush(self) -> str:
        """Return the half that waited for its other half, now that nothing follows."""
        half, self._half = self._half, ""
        if half:
            self._parts.append(half)
        return half

    def text(self) -> str:
        """Return all that was passed on."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""


def _whole_pairs(text: str) -> tuple[str, str]:
    """Return the text with its surrogate pairs joined, and a high surrogate cut off its end."""
    half = text[-1] if _FIRST_SURROGATE <= text[-1] <= _LAST_HIGH_SURROGATE else ""
    units = text.removesuffix(half).encode("utf-16", "surrogatepass")
    return units.decode("utf-16", "surrogatepass"), half


@dataclass(slots=True, kw_only=True)
class ProseBlock:
    """A growing block of text, thinking or refusal."""

    position: int
    kind: ProseKind
    signature: str | None = None
    redacted: bool = False
    open: bool = True
    fragments: Fragments = field(default_factory=Fragments)

    def value(self) -> Block:
        """Return the block so far."""
        text = self.fragments.text()
        if self.kind == "thinking":
            return Thinking(text=text, signature=self.signature, redacted=self.redacted)
        return Text(text) if self.kind == "text" else Refusal(text)


@dataclass(slots=True, kw_only=True)
class CallBlock:
    """A growing tool call.

    `carried` is the arguments that its start had. `complete` is whether its end was passed on: a
    call that ended with text that does not parse waits for the stop reason.
    """

    kind: ClassVar = "tool_call"

    position: int
    id: str
    name: str
    executor: Executor
    carried: Any
    open: bool = True
    complete: bool = False
    arguments: Any = None
    fragmented: bool = False
    fragments: Fragments = field(default_factory=Fragments)

    def parse(self) -> bool:
        """Settle the arguments from text and start; return whether the text was JSON.

        Text that is empty or blank stands for what the start carried, else for `{}`. Text that is
        not JSON leaves the arguments None: nothing is repaired.
        """
        text = self.fragments.text()
        if not text.strip():
            self.arguments = {} if self.carried is None else self.carried
            return True
        try:
            self.arguments = json_codec.loads_text(text)
        except json_codec.NotJsonError:
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

    def value(self) -> Other:
        """Return the block so far."""
        return Other(self.what, self.data)


GrowingBlock = ProseBlock | CallBlock | OtherBlock
