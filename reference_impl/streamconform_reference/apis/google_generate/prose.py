"""Text and thinking without blocks on the wire: pieces in, blocks of the accumulator out.

Neighbouring pieces of one kind are one block; a piece of the other kind, or any other part, ends it.

A signature may lie on any part, and the client has to send it back. It signs the thinking, so it is
that of the thinking block before it. Where there is none, or that one is signed, it is a thinking
block of its own without text. That block does not end the text in which it came: the text goes on.

Source: https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from streamconform_reference.decoding.assemble import Assembler


class Prose:
    """The block of text or thinking that grows now, if any."""

    def __init__(self, message: Assembler) -> None:
        """Begin with no block."""
        self._message = message
        self._number = 0
        self._slot: Hashable = None
        self._kind: Literal["text", "thinking"] | None = None
        self._signed = False

    def say(self, kind: Literal["text", "thinking"], text: str) -> None:
        """Append a piece of text that is not empty. Thinking behind a signature is a new block."""
        if kind != self._kind or self._signed:
            self.end()
            self._slot, self._kind = self._next_slot(), kind
        self._message.add(self._slot, kind, text)

    def sign(self, signature: str) -> None:
        """Sign the thinking so far, or begin and end a block that has the signature only."""
        if self._kind == "thinking" and not self._signed:
            self._message.sign(self._slot, signature)
            self._signed = True
            return
        slot = self._next_slot()
        self._message.sign(slot, signature)
        self._message.end(slot)

    def end(self) -> None:
        """End the block, if one grows."""
        if self._kind:
            self._message.end(self._slot)
        self._kind, self._signed = None, False

    def _next_slot(self) -> Hashable:
        self._number += 1
        return ("prose", self._number)
