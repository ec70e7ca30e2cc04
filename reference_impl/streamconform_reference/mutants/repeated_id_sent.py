"""Calls of several turns go back with one id, as the model wrote it."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def as_it_came(asked: Asked, body: dict[str, Any]) -> None:
    """Put the ids that were given into the calls and the results."""
    given = [block["id"] for block in blocks(asked) if block["type"] == "tool_call"]
    calls = [call for message in body["messages"] for call in message.get("tool_calls", ())]
    results = [message for message in body["messages"] if message["role"] == "tool"]
    if len(given) == len(calls) == len(results) and len(set(given)) < len(given):
        for call, result, id_ in zip(calls, results, given, strict=True):
            call["id"] = result["tool_call_id"] = id_


def blocks(asked: Asked) -> list[Any]:
    """Return the blocks of all answers."""
    answers = (message for message in asked["messages"] if message["role"] == "assistant")
    return [block for message in answers for block in message["content"]]


adapter = asking("repeated-id-sent", "openai-chat", sent=as_it_came)
