"""The arguments of a conversation, for the programs of findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamconform_peers.litellm import settings


def describe(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return the values of the placeholders in the snippet's `request`."""
    arguments = settings.build_arguments(conversation, api)
    return {"ARGUMENTS": arguments, "PREFIX": settings.get_prefix(conversation, "openai")}
