"""Convert a conversation to Haystack's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from haystack.dataclasses import ChatMessage, ImageContent, ReasoningContent, TextContent, ToolCall

Part = Mapping[str, Any]
"""A content block of an answer, a tool result, or a part of a message's content."""


def build_messages(messages: Sequence[Mapping[str, Any]], system: str | None = None) -> list[ChatMessage]:
    """Return the messages; the system prompt is the first one."""
    history = [ChatMessage.from_system(system)] if system else []
    calls: dict[str, ToolCall] = {}
    for message in messages:
        match message["role"]:
            case "user":
                content = build_content(message["content"])
                parts = content if isinstance(content, list) else [content]
                history.append(ChatMessage.from_user(content_parts=parts))
            case "assistant":
                history.append(_convert_answer(message["content"]))
                calls |= {call.id or "": call for call in history[-1].tool_calls}
            case _:
                history += [
                    ChatMessage.from_tool(
                        build_content(result["content"]),
                        calls[result["id"]],
                        error=result.get("error", False),
                    )
                    for result in message["results"]
                ]
    return history


def build_content(content: Any) -> Any:
    """Return text, or a list of parts; a JSON value is text, as Haystack writes the results of its tools."""
    if isinstance(content, str):
        return content
    if len(content) == 1 and content[0]["type"] == "json":
        return json.dumps(content[0]["value"], ensure_ascii=False)
    return list(map(_convert_part, content))


def _convert_answer(blocks: Sequence[Part]) -> ChatMessage:
    """Return an answer, which has at most one reasoning and one text; calls come after both."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    thoughts = [block.get("text", "") for block in blocks if block["type"] == "thinking"]
    calls = [
        ToolCall(block["name"], block.get("arguments") or {}, block["id"])
        for block in blocks
        if block["type"] == "tool_call"
    ]
    reasoning = ReasoningContent("".join(thoughts)) if thoughts else None
    return ChatMessage.from_assistant("".join(texts) or None, tool_calls=calls, reasoning=reasoning)


def _convert_part(part: Part) -> Any:
    match part:
        case {"type": "image", "media_type": type_, "data": data}:
            return ImageContent(data, type_)
        case {"type": "json", "value": value}:
            return TextContent(json.dumps(value, ensure_ascii=False))
        case _:
            return TextContent(part["text"])
