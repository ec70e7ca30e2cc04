"""Where there are no tools an empty list of them is sent."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def listed(asked: Asked, body: dict[str, Any]) -> None:
    """Write the list in any case."""
    del asked
    body.setdefault("tools", [])


adapter = asking("empty-tools-sent", "openai-chat", sent=listed)
