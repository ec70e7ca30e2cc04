"""The messages and settings of a conversation, for the programs of findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamconform_peers.conversation_source import format_keywords
from streamconform_peers.langchain import messages, settings


def describe(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return the values of the placeholders in the snippet's `request`."""
    cache_control = settings.get_cache_control(conversation, api)
    history = messages.build_messages(conversation, api, cache_control)
    model = settings.build_settings(conversation, api)
    bound = settings.build_format(conversation, api)
    if api == "cohere-chat":  # ChatCohere has no fields for them
        model, bound = {}, {**model, **bound}
    return {
        "MESSAGE_TYPES": ", ".join(sorted({type(message).__name__ for message in history})),
        "MESSAGES": history,
        "SETTINGS": format_keywords(model),
        "CONVERSATION_TOOLS": messages.convert_tools(api, conversation.get("tools", ())),
        "CHOICE": format_keywords(settings.build_tool_choice(conversation, api)),
        **({"BOUND": format_keywords(bound).removeprefix(", ")} if bound else {}),
    }
