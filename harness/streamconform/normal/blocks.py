"""Build blocks, tool calls and outcomes in the normal form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Block = dict[str, Any]
Error = dict[str, Any]


def append_text(content: list[Block], kind: str, text: str | None) -> None:
    """Append text of a kind (text, thinking or refusal), extending the last block if its kind is the same."""
    if text and content and content[-1]["type"] == kind:
        content[-1]["text"] += text
    elif text:
        content.append({"type": kind, "text": text})


def build_call(
    id_: str | None, name: str | None, arguments: Any, *, complete: bool = True, executor: str = "client"
) -> Block:
    """Return a tool call; `arguments` is JSON text, or a parsed value if the library returns one.

    An empty id counts as no id. A library that parses the arguments does not expose their text. The caller of
    a library that does not say which calls ended runs them all, so `complete` is true by default.
    """
    block: Block = {
        "type": "tool_call",
        "id": id_ or None,
        "name": name,
        "complete": complete,
        "executor": executor,
    }
    if isinstance(arguments, str):
        return block | {"arguments": parse_arguments(arguments), "arguments_text": arguments}
    return block | {"arguments": {} if arguments is None else arguments}


def parse_arguments(text: str) -> Any:
    """Return the JSON value of a call's arguments: `{}` if blank, None if they are not valid JSON."""
    try:
        return json.loads(text, parse_constant=_reject_constant) if text.strip() else {}
    except (ValueError, RecursionError):
        return None


def build_other(kind: str, data: Any = None) -> Block:
    """Return a block of type `other`, for content that has no type in the normal form."""
    return {"type": "other", "kind": kind, "data": data}


def build_outcome(
    content: list[Block],
    reason: str | None,
    raw: str | None,
    *,
    usage: Mapping[str, int | None] | None = None,
    error: Error | None = None,
    **names: str | None,
) -> dict[str, Any]:
    """Return the outcome; its status is `incomplete` if there is neither an error nor a stop reason.

    `reason` is the normal form's stop reason, and `raw` is the provider's. `names` contains `model` and
    `response_id`, if the library exposes them.
    """
    calls = [block for block in content if block["type"] == "tool_call"]
    # If an answer was cut off in the arguments of its last call, that call is not complete.
    if calls and reason in ("length", "content_filter") and calls[-1]["arguments"] is None:
        calls[-1]["complete"] = False
    # Google and Ollama have no stop reason for calls, but the caller has to run them.
    if reason == "stop" and any(call["complete"] and call["executor"] == "client" for call in calls):
        reason = "tool_use"
    # OpenAI has no stop reason for a refusal; only the content shows it.
    if reason == "stop" and any(block["type"] == "refusal" for block in content):
        reason = "refusal"
    status = "error" if error else "complete" if reason else "incomplete"
    stop = {"reason": "error" if error else reason, "raw": raw}
    return {
        "status": status,
        "content": content,
        "stop": stop,
        "usage": dict(usage) if usage else None,
        "error": error,
        **names,
    }


def subtract(total: int | None, *parts: int | None) -> int | None:
    """Return a token count minus its parts (at least 0), because usage buckets are disjoint."""
    return None if total is None else max(total - sum(part or 0 for part in parts), 0)


def get(holder: Any, *path: str) -> Any:
    """Return the value at a path of attributes or keys, or None if there is none."""
    for key in path:
        holder = holder.get(key) if isinstance(holder, Mapping) else getattr(holder, key, None)
    return holder


def get_text(holder: Any, *path: str) -> str:
    """Return the text at a path, or an empty string if the value is not text, whatever its declared type."""
    value = get(holder, *path)
    return value if isinstance(value, str) else ""


def _reject_constant(constant: str) -> Any:
    """Reject NaN and Infinity, which Python's JSON parser accepts."""
    raise ValueError(constant)
