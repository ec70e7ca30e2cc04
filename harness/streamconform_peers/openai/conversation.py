"""A conversation as OpenAI's guides show it: the caller appends the SDK's answer and the tools' results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from streamconform_peers.turns import match_results

Part = Mapping[str, Any]
"""A part of a tool result or of a message, in the form used in conversations."""


def continue_chat(message: Any, turn: Mapping[str, Any]) -> list[Any]:
    """Return what the caller appends to the messages of Chat Completions.

    Messages with the role `tool` contain only text, so images are in a message of the user.
    """
    pairs = match_results(
        turn.get("results") or (), message.tool_calls or [], lambda call: call.function.name
    )
    added: list[Any] = [message]
    images: list[Part] = []
    for call, result in pairs:
        content = _list_parts(result["content"])
        text = "".join(_get_text(part) for part in content if part["type"] != "image")
        added.append({"role": "tool", "tool_call_id": call.id, "content": text})
        images += [part for part in content if part["type"] == "image"]
    if images:
        added.append({"role": "user", "content": list(map(_convert_chat_part, images))})
    for more in turn.get("messages") or ():
        parts = list(map(_convert_chat_part, _list_parts(more["content"])))
        added.append({"role": "user", "content": parts})
    return added


def continue_responses(output: Sequence[Any], turn: Mapping[str, Any]) -> list[Any]:
    """Return what the caller appends to the input of Responses."""
    calls = [item for item in output if item.type == "function_call"]
    added = list(output)
    for call, result in match_results(turn.get("results") or (), calls, lambda call: call.name):
        content = result["content"]
        is_text = isinstance(content, str) or [part["type"] for part in content] == ["json"]
        parts = _list_parts(content)
        out = _get_text(parts[0]) if is_text else list(map(_convert_input_part, parts))
        caller = {"caller": call.caller} if getattr(call, "caller", None) else {}
        added.append({"type": "function_call_output", "call_id": call.call_id, "output": out, **caller})
    for more in turn.get("messages") or ():
        parts = list(map(_convert_input_part, _list_parts(more["content"])))
        added.append({"role": "user", "content": parts})
    return added


def _list_parts(content: Any) -> list[Part]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _get_text(part: Part) -> str:
    text: str = json.dumps(part["value"]) if part["type"] == "json" else part["text"]
    return text


def _build_url(part: Part) -> str:
    return f"data:{part['media_type']};base64,{part['data']}"


def _convert_chat_part(part: Part) -> dict[str, Any]:
    if part["type"] == "image":
        return {"type": "image_url", "image_url": {"url": _build_url(part)}}
    return {"type": "text", "text": _get_text(part)}


def _convert_input_part(part: Part) -> dict[str, Any]:
    if part["type"] == "image":
        return {"type": "input_image", "image_url": _build_url(part), "detail": "auto"}
    return {"type": "input_text", "text": _get_text(part)}
