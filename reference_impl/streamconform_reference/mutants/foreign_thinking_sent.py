"""Thinking goes to a model that did not write it."""

from __future__ import annotations

from ._asking import Asked, asking


def own(asked: Asked) -> Asked:
    """Take every answer for the model's own."""
    foreign = ("model", "api")
    messages = [{k: v for k, v in each.items() if k not in foreign} for each in asked["messages"]]
    return {**asked, "messages": messages}


adapter = asking(
    "foreign-thinking-sent",
    "anthropic-messages",
    "bedrock-converse",
    "google-generate",
    "openai-responses",
    given=own,
)
