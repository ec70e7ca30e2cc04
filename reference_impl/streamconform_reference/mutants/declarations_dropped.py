"""Where no tool may be called none is declared, though calls went before."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def dropped(asked: Asked, body: dict[str, Any]) -> None:
    """Leave the tools out."""
    if asked.get("tool_choice") == "none" or not asked.get("tools"):
        body.pop("toolConfig", None)


adapter = asking("declarations-dropped", "bedrock-converse", sent=dropped)
