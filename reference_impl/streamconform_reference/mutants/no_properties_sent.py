"""The schema of a tool that takes nothing has no properties."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def bare(asked: Asked, body: dict[str, Any]) -> None:
    """Leave them out where they are empty."""
    del asked
    for tool in body.get("tools", ()):
        schema = tool.get("function", tool)["parameters"]
        if not schema["properties"]:
            del schema["properties"]


adapter = asking("no-properties-sent", "openai-chat", "openai-responses", "ollama-chat", sent=bare)
