"""All thinking of an answer goes back before everything else of it."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking, parts


def sorted_blocks(asked: Asked, body: dict[str, Any]) -> None:
    """Put thinking first; what else there is keeps its order."""
    del asked
    for content in parts(body):
        content.sort(key=lambda block: not block["type"].endswith("thinking"))


adapter = asking("thoughts-sent-first", "anthropic-messages", sent=sorted_blocks)
