"""Every model is told to think."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def thoughtful(asked: Asked, body: dict[str, Any]) -> None:
    """Write the field in any case."""
    del asked
    body.setdefault("think", True)


adapter = asking("think-always", "ollama-chat", sent=thoughtful)
