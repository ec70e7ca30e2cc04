"""A stream is not asked for its usage."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def unasked(asked: Asked, body: dict[str, Any]) -> None:
    """Leave the options out."""
    del asked
    body.pop("stream_options", None)


adapter = asking("usage-unasked", "openai-chat", sent=unasked)
