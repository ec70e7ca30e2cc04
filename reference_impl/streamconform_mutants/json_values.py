"""Read payloads of any shape, and close truncated JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from streamconform_reference.outcome import Json

_CLOSING: Final = {"{": "}", "[": "]"}
_HALF: Final = re.compile("[\ud800-\udfff]")


def object_at(holder: Json, key: str) -> Json:
    """Return the object under the key, or an empty object if the value is missing or not an object."""
    value: Any = holder.get(key)
    return value if isinstance(value, dict) else {}


def drop_key(value: Any, key: str) -> Any:
    """Return the JSON value without members of this name, at any depth."""
    if isinstance(value, dict):
        return {name: drop_key(member, key) for name, member in value.items() if name != key}
    return [drop_key(item, key) for item in value] if isinstance(value, list) else value


def close_json(text: str) -> str:
    """Return the text with its open string, objects and arrays closed, as JSON repair tools do."""
    pending: list[str] = []
    inside = escaped = False
    for character in text:
        if inside:
            inside = character != '"' or escaped
            escaped = character == "\\" and not escaped
        elif character == '"':
            inside = True
        elif character in _CLOSING:
            pending.append(_CLOSING[character])
        elif pending and character == pending[-1]:
            pending.pop()
    return text + '"' * inside + "".join(reversed(pending))


def replace_halves(value: Any) -> Any:
    """Return the JSON value with each unpaired surrogate replaced by U+FFFD."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {name: replace_halves(member) for name, member in value.items()}
    return [replace_halves(item) for item in value] if isinstance(value, list) else value


def report_refused_calls(messages: list[Json], *refusals: str) -> Iterator[Json]:
    """Yield a parser's messages, with tool_use as the reason of an answer with a call that was refused."""
    calls = any(block["type"] == "tool_call" for block in messages[-1]["outcome"]["content"])
    for message in messages:
        stop = object_at(message.get("outcome") or message, "stop")
        if calls and stop.get("raw") in refusals:
            stop["reason"] = "tool_use"
        yield message
