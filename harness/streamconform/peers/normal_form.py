"""What every peer's adapter says alike: blocks, calls, errors and outcomes, in the normal form.

Nothing here reads a wire format: it takes what a library gave its user.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

SECONDS: Final = 8.0
"""What a client is told to wait at most: less than a trial has."""

Block = dict[str, Any]
Error = dict[str, Any]


def say(content: list[Block], kind: str, text: str | None) -> None:
    """Append a piece of text, thinking or refusal: to the last block where that is of its kind."""
    if text and content and content[-1]["type"] == kind:
        content[-1]["text"] += text
    elif text:
        content.append({"type": kind, "text": text})


def call(
    id_: str | None, name: str | None, arguments: Any, *, complete: bool = True, executor: str = "client"
) -> Block:
    """Return a call; `arguments` is the text that the library gives, or a value where it gives that."""
    block: Block = {"type": "tool_call", "id": id_, "name": name, "complete": complete, "executor": executor}
    if isinstance(arguments, str):
        return block | {"arguments": parsed(arguments), "arguments_text": arguments}
    return block | {"arguments": {} if arguments is None else _json(arguments), "arguments_text": None}


def parsed(text: str) -> Any:
    """Return the JSON value of a call's arguments: `{}` where blank, None where it does not parse."""
    try:
        return json.loads(text, parse_constant=_no_json) if text.strip() else {}
    except (ValueError, RecursionError):
        return None


def other(kind: str, data: Any = None) -> Block:
    """Return a block of a kind that is none of ours."""
    return {"type": "other", "kind": kind, "data": data}


def raised(error: BaseException) -> Error:
    """Return what a library's user sees that raises while it reads: its words, and a type.

    `ValueError` and what derives from it (`JSONDecodeError`, pydantic's) is how libraries refuse bytes that
    they cannot read, which the normal form calls `protocol`; else it is the exception's name.
    """
    kind = "protocol" if isinstance(error, ValueError) else type(error).__name__
    return {"type": kind, "message": str(error)[:2000], "status": None}


def outcome(
    content: list[Block],
    reason: str | None,
    raw: str | None,
    *,
    usage: Mapping[str, int | None] | None = None,
    error: Error | None = None,
    model: str | None = None,
    response_id: str | None = None,
) -> dict[str, Any]:
    """Return the outcome; without a stop reason, which the library did not give then, it is incomplete.

    The normal form wants an id of every call; one that the library gives none gets its number. What the
    stop reason says of calls, and calls and refusals of it: DESIGN 4.6.
    """
    calls = [each for each in content if each["type"] == "tool_call"]
    for number, each in enumerate(calls):
        each["id"] = each["id"] or f"without-id-{number}"
    if calls and reason in ("length", "content_filter") and calls[-1]["arguments"] is None:
        calls[-1]["complete"] = False
    if reason == "stop" and any(each["complete"] and each["executor"] == "client" for each in calls):
        reason = "tool_use"
    if reason == "stop" and any(each["type"] == "refusal" for each in content):
        reason = "refusal"
    status = "error" if error else "complete" if reason else "incomplete"
    stop = {"reason": "error" if error else reason, "raw": raw}
    return {
        "status": status,
        "content": content,
        "stop": stop,
        "usage": dict(usage) if usage else None,
        "error": error,
        "model": model,
        "response_id": response_id,
    }


def less(total: int | None, *parts: int | None) -> int | None:
    """Return a count without its parts, for buckets are disjoint."""
    return None if total is None else max(total - sum(part or 0 for part in parts), 0)


def words(function: Callable[..., Any], request: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a request's body as the arguments of `function`; what it does not name goes by `extra_body`."""
    known = inspect.signature(function).parameters
    given = dict(request or {})
    extra = {key: given.pop(key) for key in list(given) if key not in known}
    return given | ({"extra_body": extra} if extra else {})


def at(holder: Any, *path: str) -> Any:
    """Return what lies under a path of attributes or keys, or None."""
    for key in path:
        holder = holder.get(key) if isinstance(holder, Mapping) else getattr(holder, key, None)
    return holder


def text(holder: Any, *path: str) -> str:
    """Return the text under a path, empty where the value is none, whatever the library's types say."""
    found = at(holder, *path)
    return found if isinstance(found, str) else ""


def _json(value: Any) -> Any:
    """Return a value that a library has parsed, None where JSON does not have it, such as NaN."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return value


def _no_json(word: str) -> Any:
    raise ValueError(word)
