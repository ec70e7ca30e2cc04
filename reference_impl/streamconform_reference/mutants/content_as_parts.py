"""Content is a list of parts where the server takes text only."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def listed(asked: Asked, body: dict[str, Any]) -> None:
    """Write parts."""
    del asked
    for message in body["messages"]:
        message["content"] = [{"type": "text", "text": message["content"]}]


adapter = asking("content-as-parts", "ollama-chat", sent=listed)
