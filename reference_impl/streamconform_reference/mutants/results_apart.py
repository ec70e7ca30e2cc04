"""Each result of parallel calls is a message of its own where they share one."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def apart(asked: Asked, body: dict[str, Any]) -> None:
    """Split the messages with several results."""
    del asked
    name, content = ("contents", "parts") if "contents" in body else ("messages", "content")
    body[name] = [each for message in body[name] for each in split(message, content)]


def split(message: dict[str, Any], content: str) -> list[dict[str, Any]]:
    """Return a message for every block of this one, if it has a result."""
    blocks = message[content]
    if not any(is_result(block) for block in blocks):
        return [message]
    return [{**message, content: [block]} for block in blocks]


def is_result(block: Any) -> bool:
    """Whether the block is a result."""
    return block.get("type") == "tool_result" or "toolResult" in block or "functionResponse" in block


adapter = asking("results-apart", "anthropic-messages", "bedrock-converse", "google-generate", sent=apart)
