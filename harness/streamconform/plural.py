"""Count things in words. Pure."""

from __future__ import annotations


def format_count(number: int, noun: str) -> str:
    """Return `1 case`, `2 cases`, `1,234 deliveries`."""
    plural = f"{noun[:-1]}ies" if noun.endswith(("ty", "ry")) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
