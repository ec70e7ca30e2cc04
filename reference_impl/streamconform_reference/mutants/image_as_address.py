"""Images are addresses with a type, and not the bare base64."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def addresses(asked: Asked, body: dict[str, Any]) -> None:
    """Write addresses."""
    del asked
    for message in body["messages"]:
        if "images" in message:
            message["images"] = [f"data:image/png;base64,{data}" for data in message["images"]]


adapter = asking("image-as-address", "ollama-chat", sent=addresses)
