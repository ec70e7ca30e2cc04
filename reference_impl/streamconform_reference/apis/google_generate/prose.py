"""Text and thinking without blocks on the wire: deltas in, blocks out.

Adjacent deltas of one kind form one block; a delta of the other kind, or any other part, ends it.

Any part may have a signature, which the client must return. It signs the thinking, so it goes to the
thinking block before it. If there is none, or it is already signed, the signature becomes a thinking block
without text. That block does not end the text around it: the text continues. An empty thought that is signed
is a block of its own, because parts with a signature must not be merged with parts that have none.

Source: https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from streamconform_reference.decoding.assemble import Assembler


class SignedProse:
    """Tracks the open block of text or thinking, if any."""

    def __init__(self, message: Assembler) -> None:
        """Start with no block."""
        self._message = message
        self._number = 0
        self._slot: Hashable = None
        self._kind: Literal["text", "thinking"] | None = None
        self._signed = False

    def append(self, kind: Literal["text", "thinking"], text: str) -> None:
        """Append non-empty text. Thinking after a signature starts a new block."""
        if kind != self._kind or self._signed:
            self.end()
            self._slot, self._kind = self._next_slot(), kind
        self._message.add(self._slot, kind, text)

    def sign(self, signature: str) -> None:
        """Sign the open thinking block, or add a block that has only the signature."""
        if self._kind == "thinking" and not self._signed:
            self._message.sign(self._slot, signature)
            self._signed = True
        else:
            self._add_signature(signature)

    def add_signed_thought(self, signature: str) -> None:
        """Add a thought without text; it ends the thinking before it."""
        if self._kind == "thinking":
            self.end()
        self._add_signature(signature)

    def end(self) -> None:
        """End the open block, if there is one."""
        if self._kind:
            self._message.end(self._slot)
        self._kind, self._signed = None, False

    def _add_signature(self, signature: str) -> None:
        slot = self._next_slot()
        self._message.sign(slot, signature)
        self._message.end(slot)

    def _next_slot(self) -> Hashable:
        self._number += 1
        return ("prose", self._number)
