"""Reasoning goes back though the item that followed it does not."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def alone(asked: Asked, body: dict[str, Any]) -> None:
    """Append the last thinking of an answer that ends in it, or in a call that was cut."""
    for message in asked["messages"]:
        kept = [block for block in message.get("content", ()) if is_whole(block)]
        if kept and kept[-1]["type"] == "thinking" and kept[-1].get("signature"):
            item = {"type": "reasoning", "summary": [], "encrypted_content": kept[-1]["signature"]}
            body["input"].insert(1, item)


def is_whole(block: Any) -> bool:
    """Whether the block is one that had ended."""
    return isinstance(block, dict) and block.get("complete") is not False


adapter = asking("reasoning-alone", "openai-responses", sent=alone)
