"""Nothing says up to where the prompt is to be cached."""

from __future__ import annotations

from ._asking import Asked, asking


def unmarked(asked: Asked) -> Asked:
    """Forget that it was asked for."""
    return {**asked, "cache": "none"}


adapter = asking("cache-unmarked", "anthropic-messages", "bedrock-converse", given=unmarked)
