"""Text, thinking and refusals in APIs without blocks on the wire: deltas in, blocks out.

Adjacent deltas of the same kind form one block. A delta of another kind, or the start of a tool call, ends
it. Fragments of a call that has already started do not end it, because they add no block in between.
"""

from __future__ import annotations

from collections.abc import Hashable

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.outcome import ProseKind


class Prose:
    """Tracks the open block of prose, if any."""

    def __init__(self, message: Assembler) -> None:
        """Start with no block."""
        self._message = message
        self._number = 0
        self._slot: Hashable = None
        self._kind: ProseKind | None = None
        self._signed_by: Hashable = None
        self.text_slot: Hashable = None
        """The slot of the first text; None until there is one."""

    @property
    def started(self) -> bool:
        """Whether any prose has arrived."""
        return self._number > 0

    def append(self, kind: ProseKind, text: str) -> None:
        """Append non-empty text. Thinking after a signature starts a new block."""
        if kind != self._kind or self._signed_by is not None:
            self._begin(kind)
        self._message.add(self._slot, kind, text)

    def sign(self, signature: str, *, part: Hashable, redacted: bool = False) -> None:
        """Sign the open thinking block, or a new one if none is open or the open one is already signed."""
        if self._kind != "thinking" or self._signed_by not in (None, part):
            self._begin("thinking")
        self._message.sign(self._slot, signature, redacted=redacted)
        self._signed_by = part

    def end(self) -> None:
        """End the open block, if there is one."""
        if self._kind:
            self._message.end(self._slot)
        self._kind = self._signed_by = None

    def _begin(self, kind: ProseKind) -> None:
        self.end()
        self._number += 1
        self._slot = ("prose", self._number)
        self._kind = kind
        if kind == "text" and self.text_slot is None:
            self.text_slot = self._slot
