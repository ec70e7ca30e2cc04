"""Convert a conversation to Pydantic AI's messages, tools and output format."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from pydantic_ai import messages
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from streamconform.normal.blocks import get
from streamconform_peers.pydantic_ai.answers import convert_answer
from streamconform_peers.turns import match_results

Part = Mapping[str, Any]
"""A tool result, or a part of a message's content, in the form used in conversations."""


def build_messages(conversation: Mapping[str, Any], api: str) -> list[messages.ModelMessage]:
    """Return the messages; the system prompt is repeated as the instructions of every request."""
    history: list[messages.ModelMessage] = []
    system = conversation.get("system")
    for message in conversation["messages"]:
        match message["role"]:
            case "user":
                part = messages.UserPromptPart(_convert_content(message["content"]))
                history.append(messages.ModelRequest([part], instructions=system))
            case "assistant":
                history.append(convert_answer(message, api, conversation["model"]))
            case _:
                results = [*map(_convert_result, message["results"])]
                # `Agent` also puts all results into one request.
                if any(isinstance(part, messages.ToolReturnPart) for part in history[-1].parts):
                    results = [*history.pop().parts, *results]
                history.append(messages.ModelRequest(results, instructions=system))
    return history


def build_turn_message(answer: Any, turn: Mapping[str, Any], system: str | None) -> messages.ModelRequest:
    """Return the request after an answer, as `Agent` builds it: the results of its calls, then messages."""
    calls = [part for part in get(answer, "parts") or [] if isinstance(part, messages.ToolCallPart)]
    results = match_results(turn.get("results") or (), calls, lambda call: call.tool_name)
    parts: list[Any] = [_convert_result({**result, "id": call.tool_call_id}) for call, result in results]
    added = turn.get("messages") or ()
    parts += [messages.UserPromptPart(_convert_content(message["content"])) for message in added]
    return messages.ModelRequest(parts, instructions=system)


def build_tools(conversation: Mapping[str, Any]) -> list[ToolDefinition]:
    """Return the tools."""
    return [
        ToolDefinition(
            name=tool["name"],
            description=tool.get("description"),
            parameters_json_schema=dict(tool["parameters"]),
            strict=tool.get("strict"),
        )
        for tool in conversation.get("tools", ())
    ]


def build_output(conversation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request parameters that `Agent` sets for a `NativeOutput`."""
    if (output := conversation.get("output_schema")) is None:
        return {}
    return {
        "output_mode": "native",
        "output_object": OutputObjectDefinition(
            json_schema=dict(output["schema"]), name=output.get("name"), strict=output.get("strict")
        ),
    }


def _convert_result(result: Part) -> messages.ToolReturnPart:
    part = messages.ToolReturnPart(result["name"], _convert_content(result["content"]), result["id"])
    part.outcome = "failed" if result.get("error") else "success"
    return part


def _convert_content(content: Any) -> Any:
    """Return text, a JSON value, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = [_convert_part(part) for part in content]
    return parts[0] if len(parts) == 1 and content[0]["type"] == "json" else parts


def _convert_part(part: Part) -> Any:
    match part:
        case {"type": "image", "media_type": type_, "data": data}:
            return messages.BinaryContent(b64decode(data), media_type=type_)
        case {"type": "json", "value": value}:
            return value
        case _:
            return part["text"]
