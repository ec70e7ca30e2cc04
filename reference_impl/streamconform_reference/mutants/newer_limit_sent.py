"""The limit has its newer name for hosts that know the older only."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def newer(asked: Asked, body: dict[str, Any]) -> None:
    """Rename it."""
    del asked
    if "max_tokens" in body:
        body["max_completion_tokens"] = body.pop("max_tokens")


adapter = asking("newer-limit-sent", "openai-chat", sent=newer)
