"""An answer of nothing goes back as a content without parts."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def empty(asked: Asked, body: dict[str, Any]) -> None:
    """Append one for each answer of which nothing is left."""
    for message in asked["messages"]:
        if message["role"] == "assistant" and not any(map(says, message["content"])):
            body["contents"].insert(1, {"role": "model", "parts": []})


def says(block: dict[str, Any]) -> bool:
    """Whether there is anything in the block."""
    return block["type"] not in ("text", "refusal") or bool(block["text"])


adapter = asking("empty-answer-sent", "google-generate", sent=empty)
