"""The ids of the calls that a request sends back: no provider can tell results of equal ids apart. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

NAMED_MAX: Final = 3
"""Ids that one message names."""

_MESSAGE_CALLS: Final = ("messages", "*", "tool_calls", "*", "id")
PLACES: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "anthropic-messages": (("messages", "*", "content", "*", "tool_use", "id"),),
    "openai-chat": (_MESSAGE_CALLS,),
    "openai-responses": (
        ("input", "*", "function_call", "call_id"),
        ("input", "*", "custom_tool_call", "call_id"),
    ),
    "google-generate": (("contents", "*", "parts", "*", "functionCall", "id"),),
    "ollama-chat": (_MESSAGE_CALLS,),
    "cohere-chat": (_MESSAGE_CALLS,),
    "bedrock-converse": (("messages", "*", "content", "*", "toolUse", "toolUseId"),),
}
"""Where a body of each api has them. A step behind `*` is a key, or the `type` of what stands there."""


def repeated(api: str, body: Mapping[str, Any]) -> str | None:
    """Return in words which calls of a body have one id, or None."""
    ids = Counter(
        each for path in PLACES.get(api, ()) for each in _found(path, body) if isinstance(each, str) and each
    )
    twice = [id_ for id_, times in ids.items() if times > 1]
    return f"several calls have the id `{'`, `'.join(twice[:NAMED_MAX])}`" if twice else None


def _found(path: tuple[str, ...], value: Any) -> list[Any]:
    if not path:
        return [value]
    step, rest = path[0], path[1:]
    if step == "*":
        return [each for item in value for each in _found(rest, item)] if isinstance(value, list) else []
    if not isinstance(value, Mapping):
        return []
    if value.get("type") == step:
        return _found(rest, value)
    return _found(rest, value[step]) if step in value else []
