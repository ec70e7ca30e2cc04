"""Results are sent as `tool_calls` of a user message, and not as messages of role `tool`."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def as_calls(asked: Asked, body: dict[str, Any]) -> None:
    """Turn the messages of results into calls."""
    del asked
    body["messages"] = [as_call(each) if each["role"] == "tool" else each for each in body["messages"]]


def as_call(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result as a call of the user."""
    function = {"name": result["tool_call_id"], "arguments": result["content"]}
    call = {"id": result["tool_call_id"], "type": "function", "function": function}
    return {"role": "user", "tool_calls": [call]}


adapter = asking("results-as-tool-calls", "openai-chat", sent=as_calls)
