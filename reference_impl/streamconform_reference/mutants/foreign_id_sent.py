"""Ids of calls go as they came, whatever the host takes."""

from __future__ import annotations

from streamconform_reference.requests.conversation import ANY_ID

from ._asking import Asked, asking


def as_it_came(asked: Asked) -> Asked:
    """Say that the host takes any."""
    return {**asked, "facts": {**asked.get("facts", {}), "tool_ids": ANY_ID}}


adapter = asking(
    "foreign-id-sent",
    "anthropic-messages",
    "bedrock-converse",
    "openai-chat",
    "openai-responses",
    given=as_it_came,
)
