"""The limit stands beside the options, where the server does not look."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def outside(asked: Asked, body: dict[str, Any]) -> None:
    """Move it."""
    del asked
    if "num_predict" in body.get("options", {}):
        body["max_tokens"] = body["options"].pop("num_predict")


adapter = asking("limit-outside-options", "ollama-chat", sent=outside)
