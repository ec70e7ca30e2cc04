"""Mutants that decode the text of several APIs in the same wrong way."""

from __future__ import annotations

from typing import Any

from .json_values import replace_halves
from .model import CONTENT
from .registry import SharedMutants

mutants = SharedMutants()


@mutants.payloads(
    "anthropic-messages",
    "openai-chat",
    "openai-responses",
    "google-generate",
    "google-interactions",
    "ollama-chat",
    "cohere-chat",
    "bedrock-converse",
    "bedrock-invoke",
    kind="text-garbled",
    fails=CONTENT,
)
def half_characters_replaced(payload: Any) -> Any:
    """Encodes each delta by itself, so a character whose halves are in two deltas becomes two U+FFFD."""
    return replace_halves(payload)
