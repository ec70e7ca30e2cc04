"""Thinking goes back to hosts that do not know the field."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def everywhere(asked: Asked, body: dict[str, Any]) -> None:
    """Write what was thought last into every answer."""
    blocks = (block for message in asked["messages"] for block in message.get("content", ()))
    thoughts = [each["text"] for each in blocks if isinstance(each, dict) and each["type"] == "thinking"]
    for message in body["messages"]:
        if thoughts and message["role"] == "assistant":
            message["reasoning_content"] = thoughts[-1]


adapter = asking("thinking-to-any-host", "openai-chat", sent=everywhere)
