"""Arguments are sent as the text of an object where the api takes the object."""

from __future__ import annotations

from typing import Any

from streamconform_reference.requests.conversation import format_json

from ._asking import Asked, asking, parts


def as_text(asked: Asked, body: dict[str, Any]) -> None:
    """Print them."""
    del asked
    for content in parts(body):
        for block in content:
            place = block.get("toolUse", block)
            if "input" in place:
                place["input"] = format_json(place["input"])
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = format_json(call["function"]["arguments"])


adapter = asking("input-as-text", "anthropic-messages", "bedrock-converse", "ollama-chat", sent=as_text)
