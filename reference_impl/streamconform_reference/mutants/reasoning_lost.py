"""Reasoning items do not go back."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def forgotten(asked: Asked, body: dict[str, Any]) -> None:
    """Leave them out."""
    del asked
    body["input"] = [item for item in body["input"] if item["type"] != "reasoning"]


adapter = asking("reasoning-lost", "openai-responses", sent=forgotten)
