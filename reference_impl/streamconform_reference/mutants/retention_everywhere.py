"""The cache is to be kept for a day, whoever the host is and whether that is asked for or not."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def kept(asked: Asked, body: dict[str, Any]) -> None:
    """Write it in any case."""
    del asked
    body["prompt_cache_retention"] = "24h"


adapter = asking("retention-everywhere", "openai-chat", "openai-responses", sent=kept)
