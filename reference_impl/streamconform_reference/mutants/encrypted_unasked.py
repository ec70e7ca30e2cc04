"""The encrypted content of reasoning is not asked for."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def unasked(asked: Asked, body: dict[str, Any]) -> None:
    """Leave the field out."""
    del asked
    body.pop("include", None)


adapter = asking("encrypted-unasked", "openai-responses", sent=unasked)
