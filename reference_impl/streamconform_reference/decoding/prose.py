"""Text, thinking and refusal without blocks on the wire: pieces in, blocks of the accumulator out.

Neighbouring pieces of one kind are one block. A piece of another kind, or the start of a tool call,
ends it. Fragments of a call that has begun already end nothing: the content has no block in between.
"""

from __future__ import annotations

from collections.abc import Hashable

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.outcome import ProseKind


class Prose:
    """The block of prose that grows now, if any."""

    def __init__(self, message: Assembler) -> None:
        """Begin with no block."""
        self._message = message
        self._number = 0
        self._slot: Hashable = None
        self._kind: ProseKind | None = None
        self._signed_by: Hashable = None

    @property
    def said(self) -> bool:
        """Whether there was any prose."""
        return self._number > 0

    def say(self, kind: ProseKind, text: str) -> None:
        """Append a piece of text that is not empty. Thinking behind a signature is a new block."""
        if kind != self._kind or self._signed_by is not None:
            self._begin(kind)
        self._message.add(self._slot, kind, text)

    def sign(self, signature: str, *, part: Hashable, redacted: bool = False) -> None:
        """Sign the thinking so far; with no thinking, or a signature of another part, begin a block."""
        if self._kind != "thinking" or self._signed_by not in (None, part):
            self._begin("thinking")
        self._message.sign(self._slot, signature, redacted=redacted)
        self._signed_by = part

    def end(self) -> None:
        """End the block, if one grows."""
        if self._kind:
            self._message.end(self._slot)
        self._kind = self._signed_by = None

    def _begin(self, kind: ProseKind) -> None:
        self.end()
        self._number += 1
        self._slot = ("prose", self._number)
        self._kind = kind
