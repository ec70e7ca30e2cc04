"""Thinking goes back without its signature."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking, parts


def unsigned(asked: Asked, body: dict[str, Any]) -> None:
    """Take the signatures away."""
    del asked
    for content in parts(body):
        for block in content:
            block.pop("signature", None)
            block.get("reasoningContent", {}).get("reasoningText", {}).pop("signature", None)


adapter = asking("sent-signature-lost", "anthropic-messages", "bedrock-converse", sent=unsigned)
