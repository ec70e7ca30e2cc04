"""The limit has its older name, which models that think refuse."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def older(asked: Asked, body: dict[str, Any]) -> None:
    """Rename it."""
    del asked
    if "max_completion_tokens" in body:
        body["max_tokens"] = body.pop("max_completion_tokens")


adapter = asking("older-limit-sent", "openai-chat", sent=older)
