"""A conversation as LangChain's messages, in its standard content blocks (`output_version="v1"`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolMessage

from streamconform.peers.langchain.answers import answer_of

Block = Mapping[str, Any]


def history(conversation: Mapping[str, Any], api: str, mark: Mapping[str, str] | None) -> list[AnyMessage]:
    """Return the messages; `mark` stands behind the system prompt, which is cached then."""
    said: list[AnyMessage] = []
    if system := conversation.get("system"):
        part = {"type": "text", "text": system, "cache_control": mark}
        said.append(SystemMessage([part] if mark else system))
    for each in conversation["messages"]:
        match each["role"]:
            case "user":
                said.append(HumanMessage(_content(each["content"])))
            case "assistant":
                said.append(answer_of(each, each.get("api", api), conversation["model"]))
            case _:
                said += map(_result, each["results"])
    return said


def returned(answer: Any, results: Sequence[Block]) -> list[ToolMessage]:
    """Return the results of an answer's calls, each that of the first of its name."""
    calls = list(answer.tool_calls)
    told = []
    for each in results:
        for call in [one for one in calls if one["name"] == each["name"]][:1]:
            calls.remove(call)
            told.append(_result({**each, "id": call["id"]}))
    return told


def _result(result: Block) -> ToolMessage:
    status = "error" if result.get("error") else "success"
    content = _content(result["content"])
    return ToolMessage(content, tool_call_id=result["id"], name=result["name"], status=status)


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    if len(content) == 1 and content[0]["type"] == "json":
        return json.dumps(content[0]["value"])
    return list(map(_part, content))


def _part(part: Block) -> dict[str, Any]:
    match part:
        case {"type": "image", "media_type": type_, "data": data}:
            return {"type": "image", "base64": data, "mime_type": type_}
        case {"type": "json", "value": value}:
            return {"type": "text", "text": json.dumps(value)}
        case _:
            return dict(part)
