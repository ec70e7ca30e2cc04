"""A conversation as messages and tools of Pydantic AI."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai import messages
from pydantic_ai.tools import ToolDefinition

from streamconform.peers.normal_form import at
from streamconform.peers.pydantic_ai.answers import answer_of

Block = Mapping[str, Any]


def history(conversation: Mapping[str, Any], api: str) -> list[messages.ModelMessage]:
    """Return the messages; the system prompt goes with every request, as instructions."""
    said: list[messages.ModelMessage] = []
    system = conversation.get("system")
    for each in conversation["messages"]:
        match each["role"]:
            case "user":
                part = messages.UserPromptPart(_content(each["content"]))
                said.append(messages.ModelRequest([part], instructions=system))
            case "assistant":
                said.append(answer_of(each, api, conversation["model"]))
            case _:
                said.append(messages.ModelRequest([*map(_result, each["results"])], instructions=system))
    return said


def returned(answer: Any, results: Sequence[Block], system: str | None) -> messages.ModelRequest:
    """Return the request with results of an answer's calls, each that of the first of its name."""
    calls = [each for each in at(answer, "parts") or [] if isinstance(each, messages.ToolCallPart)]
    told = []
    for each in results:
        for call in [one for one in calls if one.tool_name == each["name"]][:1]:
            calls.remove(call)
            told.append(_result({**each, "id": call.tool_call_id}))
    return messages.ModelRequest(told, instructions=system)


def definitions(conversation: Mapping[str, Any]) -> list[ToolDefinition]:
    """Return the tools."""
    return [
        ToolDefinition(
            name=each["name"],
            description=each.get("description"),
            parameters_json_schema=dict(each["parameters"]),
            strict=each.get("strict"),
        )
        for each in conversation.get("tools", ())
    ]


def _result(result: Block) -> messages.ToolReturnPart:
    made = messages.ToolReturnPart(result["name"], _content(result["content"]), result["id"])
    made.outcome = "failed" if result.get("error") else "success"
    return made


def _content(content: Any) -> Any:
    """Return text, a JSON value, or parts."""
    if isinstance(content, str):
        return content
    parts = [_value(each) for each in content]
    return parts[0] if len(parts) == 1 and content[0]["type"] == "json" else parts


def _value(part: Block) -> Any:
    match part:
        case {"type": "image", "media_type": type_, "data": data}:
            return messages.BinaryContent(b64decode(data), media_type=type_)
        case {"type": "json", "value": value}:
            return value
        case _:
            return part["text"]
