"""A level of thinking and a budget are sent together."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def both(asked: Asked, body: dict[str, Any]) -> None:
    """Write the one that is missing."""
    del asked
    config = body.get("generationConfig", {}).get("thinkingConfig", {})
    if {"thinkingLevel", "thinkingBudget"} & config.keys():
        config.setdefault("thinkingLevel", "HIGH")
        config.setdefault("thinkingBudget", 8192)


adapter = asking("level-beside-budget", "google-generate", sent=both)
