"""`store` is sent to hosts that refuse it."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def everywhere(asked: Asked, body: dict[str, Any]) -> None:
    """Write it in any case."""
    del asked
    body["store"] = False


adapter = asking("stored-everywhere", "openai-chat", sent=everywhere)
