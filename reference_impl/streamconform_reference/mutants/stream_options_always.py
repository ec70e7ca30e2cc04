"""Options of a stream are sent without one."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def always(asked: Asked, body: dict[str, Any]) -> None:
    """Write them in any case."""
    del asked
    body["stream_options"] = {"include_usage": True}


adapter = asking("stream-options-always", "openai-chat", sent=always)
