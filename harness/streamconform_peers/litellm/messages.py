"""Convert a conversation's messages to LiteLLM's form: Chat Completions with LiteLLM's additions.

An answer has the form that LiteLLM builds for its API: `thinking_blocks`, Gemini's `thought_signature` on
calls, and server tools in `provider_specific_fields`. This form cannot mark a tool result as failed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform_peers.turns import match_results

AnswerBlock = Mapping[str, Any]
"""A content block of an answer, a tool result, or a part of a message's content."""
Message = dict[str, Any]

THINKING_APIS: Final = ("anthropic-messages", "bedrock-converse", "google-generate")
"""The APIs whose thinking becomes `thinking_blocks`; for the others, LiteLLM keeps only the text."""


def build_messages(
    conversation: Mapping[str, Any], api: str, cache_control: Mapping[str, str] | None
) -> Iterator[Message]:
    """Yield the messages; `cache_control` marks the system prompt for caching."""
    if system := conversation.get("system"):
        part = {"type": "text", "text": system, "cache_control": dict(cache_control or {})}
        yield {"role": "system", "content": [part] if cache_control else system}
    for message in conversation["messages"]:
        match message["role"]:
            case "user":
                yield {"role": "user", "content": _convert_content(message["content"])}
            case "assistant":
                yield _convert_answer(message["content"], message.get("api", api))
            case _:
                yield from map(_convert_result, message["results"])


def build_turn_messages(answer: Any, turn: Mapping[str, Any]) -> Iterator[Message]:
    """Yield what the caller adds after an answer: the results of its calls, and messages."""
    calls = match_results(turn.get("results") or (), answer.tool_calls or [], lambda call: call.function.name)
    for call, result in calls:
        yield _convert_result({**result, "id": call.id})
    for message in turn.get("messages") or ():
        yield {"role": "user", "content": _convert_content(message["content"])}


def _convert_answer(blocks: Sequence[AnswerBlock], api: str) -> Message:
    """Return an answer; Gemini's signatures are in a list, and a call's signature is also on the call."""
    message: Message = {"role": "assistant", "content": _join_text(blocks, "text") or None}
    if refusal := _join_text(blocks, "refusal"):
        message["refusal"] = refusal
    calls, thinking, fields = [], [], dict[str, Any]()
    for block in blocks:
        if api == "google-generate" and block.get("signature"):
            fields.setdefault("thought_signatures", []).append(block["signature"])
        if block["type"] == "thinking":
            thinking.append(block)
        elif api == "google-generate" and block.get("executor") == "provider":
            fields.setdefault("server_side_tool_invocations", []).append(_convert_invocation(block, blocks))
        elif block["type"] == "tool_call":
            calls.append(_convert_call(block, api))
        elif block["type"] == "other" and str(block.get("kind")).endswith("_tool_result"):
            fields.setdefault("web_search_results", []).append(block["data"])
    if api in THINKING_APIS and thinking:
        message["thinking_blocks"] = list(map(_convert_thinking, thinking))
    optional = {"tool_calls": calls, "provider_specific_fields": fields}
    optional["reasoning_content"] = _join_text(thinking, "thinking")
    return message | {name: value for name, value in optional.items() if value}


def _join_text(blocks: Sequence[AnswerBlock], type_: str) -> str:
    return "".join(block.get("text") or "" for block in blocks if block["type"] == type_)


def _convert_thinking(block: AnswerBlock) -> dict[str, Any]:
    if block.get("redacted"):
        return {"type": "redacted_thinking", "data": block.get("signature")}
    signature = {"signature": block["signature"]} if block.get("signature") else {}
    return {"type": "thinking", "thinking": block.get("text", ""), **signature}


def _convert_call(block: AnswerBlock, api: str) -> dict[str, Any]:
    text = block.get("arguments_text") or json.dumps(block.get("arguments"))
    call = {"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": text}}
    if not (signature := block.get("signature")):
        return call
    fields = {"thought_signature": signature}  # in Chat Completions, LiteLLM keeps it where Gemini puts it
    is_chat = api == "openai-chat"
    return call | ({"extra_content": {"google": fields}} if is_chat else {"provider_specific_fields": fields})


def _convert_invocation(call: AnswerBlock, blocks: Sequence[AnswerBlock]) -> dict[str, Any]:
    """Return a call to one of Google's server tools, together with its result."""
    results = [each["data"] for each in blocks if each.get("kind") == "toolResponse"]
    responses = {result["id"]: result["response"] for result in results}
    optional = {"thought_signature": call.get("signature"), "response": responses.get(call["id"])}
    fields = {name: value for name, value in optional.items() if value is not None}
    return {"tool_type": call["name"], "id": call["id"], "args": call["arguments"], **fields}


def _convert_result(result: AnswerBlock) -> Message:
    content = _convert_content(result["content"])
    return {"role": "tool", "tool_call_id": result["id"], "name": result["name"], "content": content}


def _convert_content(content: Any) -> Any:
    return content if isinstance(content, str) else list(map(_convert_part, content))


def _convert_part(part: AnswerBlock) -> dict[str, Any]:
    match part:
        case {"type": "image", "media_type": type_, "data": data}:
            return {"type": "image_url", "image_url": {"url": f"data:{type_};base64,{data}"}}
        case {"type": "json", "value": value}:
            return {"type": "text", "text": json.dumps(value)}
        case _:
            return {"type": "text", "text": part["text"]}
