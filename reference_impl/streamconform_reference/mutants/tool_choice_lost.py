"""The choice of a tool is not sent."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def free(asked: Asked, body: dict[str, Any]) -> None:
    """Leave the choice out, wherever it stands."""
    del asked
    body.pop("tool_choice", None)
    body.pop("toolConfig" if "contents" in body else "", None)
    body.get("toolConfig", {}).pop("toolChoice", None)


adapter = asking(
    "tool-choice-lost",
    "anthropic-messages",
    "bedrock-converse",
    "cohere-chat",
    "google-generate",
    "openai-chat",
    "openai-responses",
    sent=free,
)
