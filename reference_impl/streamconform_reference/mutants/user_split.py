"""What the user says behind something else of theirs is a message of its own."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def split(asked: Asked, body: dict[str, Any]) -> None:
    """Split the messages of the user, block by block."""
    del asked
    body["messages"] = [
        part
        for message in body["messages"]
        for part in (
            [{**message, "content": [block]} for block in message["content"]]
            if message["role"] == "user"
            else [message]
        )
    ]


adapter = asking("user-split", "bedrock-converse", sent=split)
