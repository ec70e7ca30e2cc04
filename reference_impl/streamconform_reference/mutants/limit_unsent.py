"""The limit is left out where nobody asked for one, though the api has no default."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def unlimited(asked: Asked, body: dict[str, Any]) -> None:
    """Leave it out."""
    if "max_tokens" not in asked:
        del body["max_tokens"]


adapter = asking("limit-unsent", "anthropic-messages", sent=unlimited)
