"""The arguments of a call that has none are the empty text."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def emptied(asked: Asked, body: dict[str, Any]) -> None:
    """Write nothing for no arguments."""
    del asked
    calls = [call["function"] for each in body.get("messages", ()) for call in each.get("tool_calls", ())]
    calls += [item for item in body.get("input", ()) if "arguments" in item]
    for call in calls:
        if call["arguments"] == "{}":
            call["arguments"] = ""


adapter = asking("empty-arguments-sent", "cohere-chat", "openai-chat", "openai-responses", sent=emptied)
