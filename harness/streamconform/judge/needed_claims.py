"""Find the capabilities that a client needs to hold a given conversation. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.model.capability import Capability

_OPTIONAL: Final[tuple[Capability, ...]] = (
    "provider_tools",
    "thinking",
    "signatures",
    "attachments",
    "system_messages",
    "custom_tools",
    "stateful",
)
"""What a conversation can contain that a client's types may be unable to hold, in the order of messages."""
_STORED: Final = ("previous_response_id", "prompt")
"""The settings that refer to what the provider has stored."""
_FILES: Final = ("image", "document", "audio")


def list_needed_capabilities(conversation: Mapping[str, Any]) -> tuple[Capability, ...]:
    """Return the capabilities that a client needs to hold and to send `conversation` (conversation.v1).

    `other` blocks are results of the provider's tools or other objects of the provider, so they need
    `provider_tools`. Settings of the request, such as a thinking budget, need no capability, except those
    that refer to what the provider has stored, and tools without arguments.
    """
    needed = {capability for message in conversation["messages"] for capability in _list_of_message(message)}
    if not conversation.keys().isdisjoint(_STORED):
        needed.add("stateful")
    if any("format" in tool for tool in conversation.get("tools", ())):
        needed.add("custom_tools")
    return tuple(capability for capability in _OPTIONAL if capability in needed)


def _list_of_message(message: Mapping[str, Any]) -> Iterator[Capability]:
    match message["role"]:
        case "assistant":
            for block in message["content"]:
                yield from _list_of_block(block)
        case "system":
            yield "system_messages"
        case "user":
            yield from _list_of_content(message["content"])
        case _:
            for result in message["results"]:
                yield from _list_of_content(result["content"])


def _list_of_content(content: str | Sequence[Mapping[str, Any]]) -> Iterator[Capability]:
    parts = () if isinstance(content, str) else content
    # Images that are given as bytes are so common that no capability stands for them.
    if any(part["type"] in _FILES and not (part["type"] == "image" and "data" in part) for part in parts):
        yield "attachments"


def _list_of_block(block: Mapping[str, Any]) -> Iterator[Capability]:
    if block["type"] == "other" or block.get("executor") == "provider":
        yield "provider_tools"
    if block["type"] == "thinking":
        yield "thinking"
    if block.get("signature") is not None:
        yield "signatures"
