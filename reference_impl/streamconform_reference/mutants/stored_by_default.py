"""Nothing says that answers are not to be stored."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def silent(asked: Asked, body: dict[str, Any]) -> None:
    """Leave it out."""
    del asked
    body.pop("store", None)


adapter = asking("stored-by-default", "openai-chat", "openai-responses", sent=silent)
