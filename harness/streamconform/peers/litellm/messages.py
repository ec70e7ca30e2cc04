"""Messages in the form that LiteLLM takes of all its users: that of Chat Completions, and what it adds to it.

An answer is what LiteLLM had made of it when it came, by the api that it came by: `thinking_blocks`, Gemini's
`thought_signature` on calls, results of tools that Anthropic ran under `provider_specific_fields`. It has no
word for a tool that failed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Block = Mapping[str, Any]
Message = dict[str, Any]

THINKS: Final = ("anthropic-messages", "bedrock-converse", "google-generate")
"""The apis whose thoughts become `thinking_blocks`; of others only their text is kept."""


def messages(conversation: Mapping[str, Any], api: str, mark: Mapping[str, str] | None) -> Iterator[Message]:
    """Yield the messages; `mark` stands behind the system prompt, which is cached then."""
    if system := conversation.get("system"):
        part = {"type": "text", "text": system, "cache_control": dict(mark or {})}
        yield {"role": "system", "content": [part] if mark else system}
    for each in conversation["messages"]:
        match each["role"]:
            case "user":
                yield {"role": "user", "content": _parts(each["content"])}
            case "assistant":
                yield _answer(each["content"], each.get("api", api))
            case _:
                yield from map(_result, each["results"])


def results(answer: Any, given: Sequence[Block]) -> list[Message]:
    """Return the messages with the results of an answer's calls, each that of the first of its name."""
    calls = list(answer.tool_calls or [])
    told = []
    for each in given:
        for call in [one for one in calls if one.function.name == each["name"]][:1]:
            calls.remove(call)
            told.append(_result({**each, "id": call.id}))
    return told


def _answer(blocks: Sequence[Block], api: str) -> Message:
    """Return an answer; Gemini's signatures stand as empty thoughts before a call, or behind a text."""
    message: Message = {"role": "assistant", "content": _text(blocks, "text") or None}
    if refusal := _text(blocks, "refusal"):
        message["refusal"] = refusal
    calls, thoughts, fields = [], [], dict[str, Any]()
    signature = None
    for each in blocks:
        empty = api == "google-generate" and each["type"] == "thinking" and not each.get("text")
        if empty:
            signature = each.get("signature")
            fields.setdefault("thought_signatures", []).append(signature)
        elif each["type"] == "thinking":
            thoughts.append(each)
        elif each["type"] == "tool_call":
            calls.append(_call(each, signature))
        elif each["type"] == "other" and str(each.get("kind")).endswith("_tool_result"):
            fields.setdefault("web_search_results", []).append(each["data"])
        signature = signature if empty else None
    if api in THINKS and thoughts:
        message["thinking_blocks"] = list(map(_thought, thoughts))
    more = {"tool_calls": calls, "provider_specific_fields": fields}
    more["reasoning_content"] = _text(thoughts, "thinking")
    return message | {name: value for name, value in more.items() if value}


def _text(blocks: Sequence[Block], type_: str) -> str:
    return "".join(each.get("text") or "" for each in blocks if each["type"] == type_)


def _thought(block: Block) -> dict[str, Any]:
    if block.get("redacted"):
        return {"type": "redacted_thinking", "data": block.get("signature")}
    signed = {"signature": block["signature"]} if block.get("signature") else {}
    return {"type": "thinking", "thinking": block.get("text", ""), **signed}


def _call(call: Block, signature: str | None) -> dict[str, Any]:
    text = call.get("arguments_text") or json.dumps(call.get("arguments"))
    made = {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": text}}
    return made | ({"provider_specific_fields": {"thought_signature": signature}} if signature else {})


def _result(result: Block) -> Message:
    content = _parts(result["content"])
    return {"role": "tool", "tool_call_id": result["id"], "name": result["name"], "content": content}


def _parts(content: Any) -> Any:
    return content if isinstance(content, str) else list(map(_part, content))


def _part(part: Block) -> dict[str, Any]:
    match part:
        case {"type": "image", "media_type": type_, "data": data}:
            return {"type": "image_url", "image_url": {"url": f"data:{type_};base64,{data}"}}
        case {"type": "json", "value": value}:
            return {"type": "text", "text": json.dumps(value)}
        case _:
            return dict(part)
