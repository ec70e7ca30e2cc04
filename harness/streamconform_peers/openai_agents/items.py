"""Convert a conversation to the input items of OpenAI's Agents SDK, which have the form of Responses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agents import ToolOutputImage, ToolOutputText

Part = Mapping[str, Any]
"""A content block of an answer, a tool result, or a part of a message's content."""
Item = dict[str, Any]
FAKE_ID: Final = "__fake_id__"
"""What the library puts in place of the id of an item that has none."""


def build_items(messages: Sequence[Mapping[str, Any]]) -> Iterator[Item]:
    """Yield the items of a conversation's messages."""
    for message in messages:
        match message["role"]:
            case "user":
                yield {"role": "user", "content": _convert_content(message["content"])}
            case "assistant":
                yield from map(_convert_block, message["content"])
            case _:
                for result in message["results"]:
                    output = _convert_content(result["content"])
                    yield {"type": "function_call_output", "call_id": result["id"], "output": output}


def build_output(content: Any) -> Any:
    """Return what a tool returns to the library: text, or the library's structured outputs.

    A value goes as JSON text, because the library's answer to any other object is its `str()`.
    """
    if isinstance(content, str):
        return content
    if len(content) == 1 and content[0]["type"] == "json":
        return json.dumps(content[0]["value"])
    return [
        ToolOutputImage(image_url=_build_url(part))
        if part["type"] == "image"
        else ToolOutputText(text=_get_text(part))
        for part in content
    ]


def _convert_block(block: Part) -> Item:
    match block["type"]:
        case "tool_call":
            text = block.get("arguments_text") or json.dumps(block.get("arguments"))
            call = {"type": "function_call", "call_id": block["id"], "name": block["name"]}
            return call | {"arguments": text, "status": "completed"}
        case "thinking":
            summary = [{"type": "summary_text", "text": block["text"]}] if block.get("text") else []
            return {"type": "reasoning", "id": FAKE_ID, "summary": summary}
        case kind:
            text = {"type": "output_text", "text": block.get("text", ""), "annotations": []}
            refusal = {"type": "refusal", "refusal": block.get("text", "")}
            message = {"type": "message", "id": FAKE_ID, "role": "assistant", "status": "completed"}
            return message | {"content": [refusal if kind == "refusal" else text]}


def _convert_content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    if len(content) == 1 and content[0]["type"] == "json":
        return json.dumps(content[0]["value"])
    return [
        {"type": "input_image", "image_url": _build_url(part), "detail": "auto"}
        if part["type"] == "image"
        else {"type": "input_text", "text": _get_text(part)}
        for part in content
    ]


def _get_text(part: Part) -> str:
    text: str = json.dumps(part["value"]) if part["type"] == "json" else part["text"]
    return text


def _build_url(part: Part) -> str:
    return f"data:{part['media_type']};base64,{part['data']}"
