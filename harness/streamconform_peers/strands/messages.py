"""Convert a conversation to Strands' messages and tools, which are in the Bedrock Converse format."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from strands.tools.tools import PythonAgentTool

from streamconform_peers.turns import Stretch

Part = Mapping[str, Any]
"""A content block of an answer, a tool result, or a part of a message's content."""


def build_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages; tool results are a message of the user."""
    return [
        {
            "role": "assistant" if message["role"] == "assistant" else "user",
            "content": _convert_message(message),
        }
        for message in messages
    ]


def build_tools(conversation: Mapping[str, Any], stretch: Stretch) -> list[PythonAgentTool]:
    """Return the tools, whose functions return the results in `stretch`."""
    return [
        PythonAgentTool(
            tool["name"],
            {
                "name": tool["name"],
                "description": tool.get("description") or tool["name"],
                "inputSchema": {"json": dict(tool["parameters"])},
            },
            _make_function(stretch),
        )
        for tool in conversation.get("tools", ())
    ]


def _make_function(stretch: Stretch) -> Callable[..., Any]:
    def answer(tool_use: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        result = stretch.take(tool_use["name"]) or {"content": ""}
        return _convert_result({**result, "id": tool_use["toolUseId"]})

    return answer


def _convert_message(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    match message["role"]:
        case "user":
            return _convert_content(message["content"])
        case "assistant":
            return [_convert_block(block) for block in message["content"]]
        case _:
            return [{"toolResult": _convert_result(result)} for result in message["results"]]


def _convert_block(block: Part) -> dict[str, Any]:
    match block:
        case {"type": "tool_call", "id": id_, "name": name}:
            return {"toolUse": {"toolUseId": id_, "name": name, "input": block.get("arguments") or {}}}
        case {"type": "thinking"}:
            signature = {"signature": block["signature"]} if block.get("signature") else {}
            return {"reasoningContent": {"reasoningText": {"text": block.get("text", ""), **signature}}}
        case _:
            return {"text": block.get("text", "")}


def _convert_result(result: Part) -> dict[str, Any]:
    status = "error" if result.get("error") else "success"
    return {"toolUseId": result["id"], "status": status, "content": _convert_content(result["content"])}


def _convert_content(content: Any) -> list[dict[str, Any]]:
    return [{"text": content}] if isinstance(content, str) else list(map(_convert_part, content))


def _convert_part(part: Part) -> dict[str, Any]:
    match part:
        case {"type": "image", "media_type": type_, "data": data}:
            return {"image": {"format": type_.partition("/")[2], "source": {"bytes": b64decode(data)}}}
        case {"type": "json", "value": value}:
            return {"json": value}
        case _:
            return {"text": part["text"]}
