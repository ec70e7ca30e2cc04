"""Text from outside as text: whatever does not print is spelled out. Pure."""

from __future__ import annotations


def legible(text: str) -> str:
    """Return `text` with every character that Unicode does not call graphic, but the space, as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
