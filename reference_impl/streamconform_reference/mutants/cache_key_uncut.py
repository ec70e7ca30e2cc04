"""The key of the cache is the name of the session, however long it is."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def whole(asked: Asked, body: dict[str, Any]) -> None:
    """Write the name as it is."""
    if "prompt_cache_key" in body:
        body["prompt_cache_key"] = asked["session"]


adapter = asking("cache-key-uncut", "openai-chat", "openai-responses", sent=whole)
