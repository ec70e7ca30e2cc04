"""A host that wants the thinking of calls back does not get it."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def silent(asked: Asked, body: dict[str, Any]) -> None:
    """Leave it out of every message."""
    del asked
    for message in body["messages"]:
        message.pop("reasoning_content", None)


adapter = asking("deepseek-thinking-unsent", "openai-chat", sent=silent)
