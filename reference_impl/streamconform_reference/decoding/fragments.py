"""Text that arrives in pieces, and the one thing that a cut may break: a surrogate pair."""

from __future__ import annotations

from typing import Final

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

    def beyond(self, whole: str) -> str | None:
        """Return what the whole text has more than the pieces, None where it contradicts them.

        A half that waits for its other half is forgotten: the whole text has both.
        """
        text = self.text()
        if not whole.startswith(text):
            return None
        self._half = ""
        return whole[len(text) :]

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
