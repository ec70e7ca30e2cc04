"""Redacted thinking does not go back."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking, parts


def shown(asked: Asked, body: dict[str, Any]) -> None:
    """Keep what can be shown only."""
    del asked
    for content in parts(body):
        content[:] = [block for block in content if not is_redacted(block)]


def is_redacted(block: dict[str, Any]) -> bool:
    """Whether the block holds what only the model can read."""
    hidden = "redactedContent" in block.get("reasoningContent", {})
    return hidden or block.get("type") == "redacted_thinking"


adapter = asking("sent-redacted-lost", "anthropic-messages", "bedrock-converse", sent=shown)
