"""An empty text stands before the calls of an answer."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking, parts


def padded(asked: Asked, body: dict[str, Any]) -> None:
    """Put one before the first call."""
    del asked
    for content in parts(body):
        if content and (content[0].get("type") == "tool_use" or "toolUse" in content[0]):
            content.insert(0, {"text": "", **({"type": "text"} if "type" in content[0] else {})})


adapter = asking("empty-text-sent", "anthropic-messages", "bedrock-converse", sent=padded)
