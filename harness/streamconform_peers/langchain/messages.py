"""Convert a conversation or request to LangChain's messages (v1 content blocks) and tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolMessage

from streamconform.adapters import request_reader
from streamconform.normal.blocks import get
from streamconform_peers.langchain.answers import convert_answer
from streamconform_peers.turns import match_results

Part = Mapping[str, Any]
"""A tool result, or a part of a message's content, in the form used in conversations."""
DOCUMENTS: Final = ("document", "search_result")
"""The types of prompt parts that an answer can cite (Anthropic)."""


def build_messages(
    conversation: Mapping[str, Any], api: str, cache_control: Mapping[str, str] | None
) -> list[AnyMessage]:
    """Return the messages; `cache_control` marks the system prompt for caching."""
    messages: list[AnyMessage] = []
    if system := conversation.get("system"):
        part = {"type": "text", "text": system, "cache_control": cache_control}
        messages.append(SystemMessage([part] if cache_control else system))
    for message in conversation["messages"]:
        match message["role"]:
            case "user":
                messages.append(HumanMessage(_convert_content(message["content"])))
            case "assistant":
                messages.append(convert_answer(message, message.get("api", api), conversation["model"]))
            case _:
                messages += map(_convert_result, message["results"])
    return messages


def build_turn_messages(answer: Any, turn: Mapping[str, Any]) -> Iterator[AnyMessage]:
    """Yield what the caller adds after an answer: the results of its calls, and messages."""
    calls = match_results(turn.get("results") or (), answer.tool_calls, lambda call: call["name"])
    for call, result in calls:
        yield _convert_result({**result, "id": call["id"]})
    for message in turn.get("messages") or ():
        yield HumanMessage(_convert_content(message["content"]))


def _convert_result(result: Part) -> ToolMessage:
    status = "error" if result.get("error") else "success"
    content = _convert_content(result["content"])
    return ToolMessage(content, tool_call_id=result["id"], name=result["name"], status=status)


def _convert_content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    if len(content) == 1 and content[0]["type"] == "json":
        return json.dumps(content[0]["value"])
    return list(map(_convert_part, content))


def _convert_part(part: Part) -> dict[str, Any]:
    match part:
        case {"type": "image", "media_type": type_, "data": data}:
            return {"type": "image", "base64": data, "mime_type": type_}
        case {"type": "json", "value": value}:
            return {"type": "text", "text": json.dumps(value)}
        case _:
            return {"type": "text", "text": part["text"]}


def build_prompt(run: Any) -> Any:
    """Return the prompt in a run's request.

    A prompt with documents is sent unchanged, because documents change the type that LangChain gives the
    answer's content.
    """
    content = get(((run.request or {}).get("messages") or [None])[-1], "content")
    documents = isinstance(content, list) and any(get(part, "type") in DOCUMENTS for part in content)
    return [HumanMessage(content)] if documents else request_reader.read_prompt(run.request)


def build_tools(run: Any) -> list[dict[str, Any]]:
    """Return the tools for `bind_tools`, which accepts Anthropic's own form as is."""
    if run.conversation is not None:
        return convert_tools(run.api, run.conversation.get("tools", ()))
    if run.api == "anthropic-messages":
        return list((run.request or {}).get("tools") or [])
    # LangChain's own model would reject a tool without properties, but the server must reject it.
    tools = [tool for tool in request_reader.read_tools(run.request) if _is_accepted(tool[2])]
    return convert_tools(run.api, [{"name": n, "description": d, "parameters": p} for n, d, p in tools])


def _is_accepted(schema: Mapping[str, Any]) -> bool:
    return isinstance(schema.get("properties", {}), Mapping)


def convert_tools(api: str, tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools of a conversation for `bind_tools`."""
    if api == "cohere-chat":  # a tool is its JSON Schema, with the tool's name as the title
        return [
            {
                **tool["parameters"],
                "title": tool["name"],
                "description": tool.get("description", ""),
                "properties": tool["parameters"].get("properties", {}),
            }
            for tool in tools
        ]
    return [
        {"type": "function", "function": {key: value for key, value in tool.items() if key != "cache"}}
        for tool in tools
    ]
