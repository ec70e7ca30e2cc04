"""The choice is a word of another api."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def lower(asked: Asked, body: dict[str, Any]) -> None:
    """Write it in lower case."""
    del asked
    if "tool_choice" in body:
        body["tool_choice"] = body["tool_choice"].lower()


adapter = asking("choice-in-lower-case", "cohere-chat", sent=lower)
