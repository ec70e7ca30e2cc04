"""Every word is one token, however long it is."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import count_request_tokens
from streamconform_reference.tokens import CHARACTERS_PER_TOKEN

from ._calls import calling


def words(api: str | None, given: Any) -> int:
    """Count with every word cut to one chunk."""
    return count_request_tokens(api, cut(given))


def cut(value: Any) -> Any:
    """Return the value with no word of a text longer than a chunk."""
    if isinstance(value, str):
        return " ".join(word[:CHARACTERS_PER_TOKEN] for word in value.split())
    if isinstance(value, list):
        return [cut(each) for each in value]
    if isinstance(value, dict):
        return {key: each if key == "type" else cut(each) for key, each in value.items()}
    return value


adapter = calling("words-as-tokens", count_tokens=words)
