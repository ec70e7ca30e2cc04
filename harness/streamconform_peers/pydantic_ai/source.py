"""The messages and settings of a conversation, for the programs of findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamconform_peers.conversation_source import format_keywords
from streamconform_peers.pydantic_ai import messages, settings


def describe(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return the values of the placeholders in the snippet's `request`."""
    output = messages.build_output(conversation)
    return {
        "MESSAGES": messages.build_messages(conversation, api),
        "SETTINGS": settings.build_settings(conversation, api),
        "CONVERSATION_TOOLS": messages.build_tools(conversation),
        "OUTPUT": format_keywords(output),
        **({"OUTPUT_TYPE": type(output["output_object"]).__name__} if output else {}),
    }
