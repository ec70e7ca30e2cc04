"""Text and thinking without blocks on the wire: deltas in, blocks out.

Adjacent deltas of the same kind form one block; a delta of the other kind, or any other part, ends it.

Any part may have a signature, which the client must return on the same part, and a signed part must not be
merged with an unsigned one. Signed text is therefore a separate block, often an empty one. Thinking arrives
in pieces, the last of which is signed, so the signature ends the block.

In the normal form, `other` blocks, such as images, cannot have a signature. The signature of such a part is
attached to the thinking block before it, or else to a thinking block without text.

Source: https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from streamconform_reference.decoding.assemble import Assembler


class SignedProse:
    """Tracks the open text or thinking block, if any."""

    def __init__(self, message: Assembler) -> None:
        """Start with no block."""
        self._message = message
        self._number = 0
        self._slot: Hashable = None
        self._kind: Literal["text", "thinking"] | None = None

    def append(self, kind: Literal["text", "thinking"], text: str, signature: str = "") -> None:
        """Append a text or thinking part; it has text, a signature, or both."""
        is_apart = bool(signature) and (kind == "text" or not text)
        if kind != self._kind or is_apart:
            self.end()
            self._slot, self._kind = self._next_slot(), kind
        if not text and kind == "text":
            self._message.start(self._slot, "text")
        self._message.add(self._slot, kind, text)
        if signature:
            if kind == "text":
                self._message.sign_content(self._slot, signature)
            else:
                self._message.sign(self._slot, signature)
            self.end()

    def sign_other(self, signature: str) -> None:
        """Attach the signature of a future `other` block to a thinking block, and end the open block."""
        if signature:
            if self._kind != "thinking":
                self.end()
                self._slot = self._next_slot()
            self._message.sign(self._slot, signature)
            self._kind = "thinking"
        self.end()

    def end(self) -> None:
        """End the open block, if there is one."""
        if self._kind:
            self._message.end(self._slot)
        self._kind = None

    def _next_slot(self) -> Hashable:
        self._number += 1
        return ("prose", self._number)
