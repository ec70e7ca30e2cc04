"""Every tool is sent with a schema that has no properties."""

from __future__ import annotations

from ._asking import Asked, asking


def emptied(asked: Asked) -> Asked:
    """Forget what tools take."""
    if "tools" not in asked:
        return asked
    nothing = {"type": "object", "properties": {}}
    return {**asked, "tools": [{**tool, "parameters": nothing} for tool in asked["tools"]]}


adapter = asking(
    "schemas-emptied",
    "anthropic-messages",
    "bedrock-converse",
    "cohere-chat",
    "google-generate",
    "ollama-chat",
    "openai-chat",
    "openai-responses",
    given=emptied,
)
