"""A temperature is sent to a model that thinks."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def warm(asked: Asked, body: dict[str, Any]) -> None:
    """Write it whenever it is given."""
    if "temperature" in asked:
        place = body if "model" in body else body.setdefault("inferenceConfig", {})
        place["temperature"] = asked["temperature"]


adapter = asking(
    "temperature-beside-thinking",
    "anthropic-messages",
    "bedrock-converse",
    "openai-chat",
    "openai-responses",
    sent=warm,
)
