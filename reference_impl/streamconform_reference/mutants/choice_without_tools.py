"""A choice of tools is sent where there are none."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def chosen(asked: Asked, body: dict[str, Any]) -> None:
    """Write the choice in any case."""
    if "tool_choice" in asked and "tools" not in body:
        body["tool_choice"] = {"type": "auto"}


adapter = asking("choice-without-tools", "anthropic-messages", "openai-chat", sent=chosen)
