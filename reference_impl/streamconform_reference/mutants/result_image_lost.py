"""Images in results do not go to the model."""

from __future__ import annotations

from ._asking import Asked, asking


def blind(asked: Asked) -> Asked:
    """Take them away."""
    messages = [
        {**each, "results": [without(result) for result in each["results"]]} if "results" in each else each
        for each in asked["messages"]
    ]
    return {**asked, "messages": messages}


def without(result: Asked) -> Asked:
    """Return the result without images."""
    content = result["content"]
    if isinstance(content, str):
        return result
    return {**result, "content": [part for part in content if part["type"] != "image"]}


adapter = asking(
    "result-image-lost",
    "anthropic-messages",
    "bedrock-converse",
    "openai-chat",
    "openai-responses",
    given=blind,
)
