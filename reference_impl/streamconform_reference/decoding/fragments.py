"""Text that arrives in fragments, which may split a surrogate pair."""

from __future__ import annotations

from typing import Final

_FIRST_SURROGATE: Final = "\ud800"
_LAST_HIGH_SURROGATE: Final = "\udbff"


class Fragments:
    """Text that arrives in fragments; a surrogate pair split across two fragments is joined.

    Gateways written in JavaScript split strings between UTF-16 units, so a delta may end in half an
    emoji.
    """

    __slots__ = ("_half", "_parts")

    def __init__(self) -> None:
        """Start with no text."""
        self._parts: list[str] = []
        self._half = ""

    def add(self, piece: str) -> str:
        """Add a non-empty fragment; return the text that can be emitted now, possibly empty."""
        # One comparison per delta. Characters above the surrogates also get here, and are returned unchanged.
        if self._half or piece[-1] >= _FIRST_SURROGATE:
            piece, self._half = _join_pairs(self._half + piece)
            if not piece:
                return piece
        self._parts.append(piece)
        return piece

    def flush(self) -> str:
        """Return a high surrogate that was waiting for its low surrogate, since nothing more will arrive."""
        half, self._half = self._half, ""
        if half:
            self._parts.append(half)
        return half

    def find_missing(self, whole: str) -> str | None:
        """Return the part of the complete text that has not arrived; None if it contradicts the fragments.

        A waiting high surrogate is dropped, because the complete text contains both halves.
        """
        text = self.text()
        if not whole.startswith(text):
            return None
        self._half = ""
        return whole[len(text) :]

    def text(self) -> str:
        """Return all text emitted so far."""
        if len(self._parts) > 1:
            # Kept joined, so that a snapshot after every frame does not join everything again.
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""


def _join_pairs(text: str) -> tuple[str, str]:
    """Return the text with surrogate pairs joined, and the high surrogate that was removed from its end."""
    half = text[-1] if _FIRST_SURROGATE <= text[-1] <= _LAST_HIGH_SURROGATE else ""
    units = text.removesuffix(half).encode("utf-16", "surrogatepass")
    return units.decode("utf-16", "surrogatepass"), half
