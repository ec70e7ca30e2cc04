"""A model that takes levels is told true or false."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def plain(asked: Asked, body: dict[str, Any]) -> None:
    """Write whether, and not how hard."""
    if "thinking" in asked and ("think" in body or asked["facts"].get("thinking") == "effort"):
        body["think"] = asked["thinking"] != "off"


adapter = asking("level-as-truth", "ollama-chat", sent=plain)
