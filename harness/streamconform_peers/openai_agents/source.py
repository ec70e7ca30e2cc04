"""The items and settings of a conversation, for the programs of findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamconform_peers.openai_agents.items import build_items
from streamconform_peers.openai_agents.runner import build_settings


def describe(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return the values of the placeholders in the snippet's `request`."""
    del api
    output = conversation.get("output_schema")
    return {
        "ITEMS": list(build_items(conversation["messages"])),
        "SETTINGS": build_settings(conversation, {}),
        "CONVERSATION_TOOLS": [dict(tool) for tool in conversation.get("tools", ())],
        **({"INSTRUCTIONS": repr(conversation["system"])} if "system" in conversation else {}),
        **({"OUTPUT": dict(output)} if output else {}),
    }
