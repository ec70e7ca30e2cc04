"""A JSON result is printed as the language prints values, and not as JSON."""

from __future__ import annotations

from ._asking import Asked, asking


def printed(asked: Asked) -> Asked:
    """Replace JSON values by their representation."""
    messages = [
        {**each, "results": [as_text(result) for result in each["results"]]} if "results" in each else each
        for each in asked["messages"]
    ]
    return {**asked, "messages": messages}


def as_text(result: Asked) -> Asked:
    """Return the result with text for values."""
    content = result["content"]
    if isinstance(content, str):
        return result
    told = [{"type": "text", "text": repr(p["value"])} if p["type"] == "json" else p for p in content]
    return {**result, "content": told}


adapter = asking(
    "result-printed",
    "anthropic-messages",
    "bedrock-converse",
    "cohere-chat",
    "google-generate",
    "ollama-chat",
    "openai-chat",
    "openai-responses",
    given=printed,
)
