"""The text of an answer goes back as text of an input."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def as_input(asked: Asked, body: dict[str, Any]) -> None:
    """Name the parts of every message alike."""
    del asked
    for item in body["input"]:
        for part in item.get("content", ()):
            if part["type"] == "output_text":
                part["type"] = "input_text"


adapter = asking("answer-as-input", "openai-responses", sent=as_input)
