"""The session is not the key of the cache."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def keyless(asked: Asked, body: dict[str, Any]) -> None:
    """Leave it out."""
    del asked
    body.pop("prompt_cache_key", None)


adapter = asking("cache-key-unsent", "openai-chat", "openai-responses", sent=keyless)
