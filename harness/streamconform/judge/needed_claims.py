"""Find the capabilities that a client needs to hold a given conversation. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform.model.capability import Capability

_OPTIONAL: Final[tuple[Capability, ...]] = ("provider_tools", "thinking", "signatures")
"""What a conversation can contain that a client's types may be unable to hold, in the order of messages."""


def list_needed_capabilities(conversation: Mapping[str, Any]) -> tuple[Capability, ...]:
    """Return the capabilities that a client needs to hold the answers in `conversation` (conversation.v1).

    `other` blocks are results of the provider's tools or other objects of the provider, so they need
    `provider_tools`. Settings of the request, such as a thinking budget, need no capability.
    """
    needed = {
        capability
        for message in conversation["messages"]
        if message["role"] == "assistant"
        for block in message["content"]
        for capability in _list_of_block(block)
    }
    return tuple(capability for capability in _OPTIONAL if capability in needed)


def _list_of_block(block: Mapping[str, Any]) -> Iterator[Capability]:
    if block["type"] == "other" or block.get("executor") == "provider":
        yield "provider_tools"
    if block["type"] == "thinking":
        yield "thinking"
    if block.get("signature") is not None:
        yield "signatures"
