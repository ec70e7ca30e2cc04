"""An id is respelled in the call, and in its result it stays."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking, parts


def as_it_came(asked: Asked, body: dict[str, Any]) -> None:
    """Put the ids that were given into the results."""
    ids = [result["id"] for message in asked["messages"] for result in message.get("results", ())]
    results = [block for content in parts(body) for block in content if "tool_use_id" in block]
    results += [message for message in body["messages"] if message["role"] == "tool"]
    for result, given in zip(results, ids, strict=False):
        result["tool_call_id" if "role" in result else "tool_use_id"] = given


adapter = asking("call-alone-respelled", "anthropic-messages", "openai-chat", sent=as_it_came)
