"""Read the body of `POST /v1/chat/completions` as a conversation.

Source: https://platform.openai.com/docs/api-reference/chat/create and the types of the `openai` package
3.54.0; `request` names the sources for the fields of other hosts.

- `system` and `developer` messages are paragraphs of one system prompt, at any position.
- Adjacent `tool` messages are the results of one answer.
- The text of arguments is kept next to their value; text that does not parse stays text.
- Clients of hosts that show thinking send it back: with a signature only in OpenRouter's details.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Json
from streamconform_reference.requests.errors import invalid
from streamconform_reference.requests.fields import (
    at,
    need,
    not_passed_on,
    objects,
    other,
    positive,
    take,
    words,
)
from streamconform_reference.requests.options import BUDGETS

_CHOICES: Final = {each: each for each in ("none", "auto", "required")}
_EFFORTS: Final[Mapping[str, Any]] = {
    "none": "off",
    **{each: {"effort": each} for each in BUDGETS},
    "xhigh": {"effort": "max"},
}
_KEPT: Final = {"24h": "long", "in_memory": "short", "in-memory": "short"}
_LIMITS: Final = ("max_completion_tokens", "max_tokens")
_SWITCH: Final = {"enabled": {}, "disabled": "off"}
_DATA_URL: Final = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.+)", re.DOTALL)


def conversation(body: Json, headers: Mapping[str, str]) -> Json:
    """Return the conversation (conversation.v1); the headers are not used.

    Raises:
        RefusedError: the body is invalid, or contains something that a conversation cannot represent.
    """
    del headers
    asked: Json = {"model": need(body, "model", "name")}
    if take(body, "n", "count") not in (None, 1):
        raise not_passed_on("n", "more than one answer")
    tools = [tool(each, where) for where, each in objects(body, "tools")]
    if tools:
        asked["tools"] = tools
    if body.get("tool_choice") is not None:
        asked["tool_choice"] = choice(body)
    if take(body, "parallel_tool_calls", "true or false") is not None:
        asked["parallel_tool_calls"] = body["parallel_tool_calls"]
    limit = next((number for key in _LIMITS if (number := positive(body, key))), None)
    if limit:
        asked["max_tokens"] = limit
    if take(body, "temperature", "number") is not None:
        asked["temperature"] = body["temperature"]
    asked |= thinking(body)
    if take(body, "prompt_cache_key", "text"):
        asked["session"] = body["prompt_cache_key"]
    kept = words(body, "prompt_cache_retention", _KEPT)
    if kept:
        asked["cache"] = kept
    asked["stream"] = take(body, "stream", "true or false") or False
    system, said = messages(body)
    return asked | ({"system": system} if system else {}) | {"messages": said}


def tool(given: Json, where: str) -> Json:
    """Return a tool; missing parameters mean none."""
    if need(given, "type", "text", where) != "function":
        raise not_passed_on(at(where, "type"), f"a tool of type `{given['type']}`")
    function, inside = need(given, "function", "object", where), at(where, "function")
    read: Json = {"name": need(function, "name", "name", inside)}
    if take(function, "description", "text", inside):
        read["description"] = function["description"]
    read["parameters"] = take(function, "parameters", "object", inside) or {}
    if take(function, "strict", "true or false", inside) is not None:
        read["strict"] = function["strict"]
    return read


def choice(body: Json) -> Any:
    """Return the tool choice."""
    if isinstance(body["tool_choice"], str):
        return words(body, "tool_choice", _CHOICES)
    given = take(body, "tool_choice", "object")
    if need(given, "type", "text", "tool_choice") != "function":
        raise not_passed_on("tool_choice.type", f"a choice of type `{given['type']}`")
    function = need(given, "function", "object", "tool_choice")
    return {"name": need(function, "name", "name", "tool_choice.function")}


def thinking(body: Json) -> Json:
    """Return the thinking options as a field; absent means that none are requested."""
    wish: Any = words(body, "reasoning_effort", _EFFORTS)
    switch, detailed = take(body, "thinking", "object"), take(body, "reasoning", "object")
    if switch is not None:
        switched = words(switch, "type", _SWITCH, "thinking")
        wish = switched if switched == "off" or wish is None else wish
    if detailed is not None:
        budget = positive(detailed, "max_tokens", "reasoning")
        wish = {"budget": budget} if budget else words(detailed, "effort", _EFFORTS, "reasoning")
        if wish is None:
            wish = "off" if detailed.get("enabled") is False else {}
    return {} if wish is None else {"thinking": wish}


def messages(body: Json) -> tuple[str, list[Json]]:
    """Return the system prompt, and the messages."""
    need(body, "messages", "list")
    system: list[str] = []
    read: list[Json] = []
    names: dict[str, str] = {}  # tool names by call id
    for where, message in objects(body, "messages"):
        role = need(message, "role", "text", where)
        match role:
            case "system" | "developer":
                system += (part["text"] for part in texts(message, where))
            case "user":
                read.append({"role": "user", "content": said_by_user(message, where)})
            case "assistant":
                blocks = list(answer(message, where))
                names |= {block["id"]: block["name"] for block in blocks if block["type"] == "tool_call"}
                read.append({"role": "assistant", "content": blocks})
            case "tool":
                if not read or read[-1]["role"] != "tool":
                    read.append({"role": "tool", "results": []})
                read[-1]["results"].append(result(message, where, names))
            case _:
                raise other(at(where, "role"), role, "system", "developer", "user", "assistant", "tool")
    if not read:
        raise invalid("messages: at least one message beside the system's is required")
    return "\n\n".join(filter(None, system)), read


def said_by_user(message: Json, where: str) -> Any:
    """Return the content of a user's message: text, or parts."""
    if isinstance(message.get("content"), str):
        return message["content"]
    need(message, "content", "list", where)
    parts = [said(each, path) for path, each in objects(message, "content", where)]
    if not parts:
        raise invalid(f"{at(where, 'content')}: at least one part is required")
    return parts


def said(part: Json, where: str) -> Json:
    """Return a part of a user's message."""
    kind = need(part, "type", "text", where)
    if kind == "text":
        return {"type": "text", "text": need(part, "text", "text", where)}
    if kind != "image_url":
        raise not_passed_on(at(where, "type"), f"a part of type `{kind[:64]}`")
    image, inside = need(part, "image_url", "object", where), at(where, "image_url")
    found = _DATA_URL.fullmatch(need(image, "url", "text", inside))
    if found is None:
        raise not_passed_on(at(inside, "url"), "an image that is not a base64 `data:` URL")
    return {"type": "image", "media_type": found["type"], "data": found["data"]}


def texts(message: Json, where: str) -> list[Json]:
    """Return the parts of a message that contains only text."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [
        {"type": "text", "text": need(part, "text", "text", path)}
        for path, part in objects(message, "content", where)
    ]


def result(message: Json, where: str, names: Mapping[str, str]) -> Json:
    """Return the result of a call."""
    call = need(message, "tool_call_id", "text", where)
    if call not in names:
        raise invalid(f"{at(where, 'tool_call_id')}: no call before has the id `{call[:64]}`")
    parts = texts(message, where)
    text = isinstance(message.get("content"), str) or not parts
    return {"id": call, "name": names[call], "content": message.get("content") or "" if text else parts}


def answer(message: Json, where: str) -> Iterator[Json]:
    """Yield the blocks of an earlier answer, in the form of an outcome: thinking, text, refusal, calls."""
    yield from thoughts(message, where)
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        for path, part in objects(message, "content", where):
            kind = words(part, "type", {"text": "text", "refusal": "refusal"}, path) or "text"
            yield {"type": kind, "text": need(part, kind, "text", path)}
    if take(message, "refusal", "text", where):
        yield {"type": "refusal", "text": message["refusal"]}
    for path, call in objects(message, "tool_calls", where):
        yield called(call, path)


def thoughts(message: Json, where: str) -> Iterator[Json]:
    """Yield thinking, from details if there are any, else from the first field with text."""
    details = list(objects(message, "reasoning_details", where))
    for path, detail in details:
        data = take(detail, "data", "text", path)
        signature = data or take(detail, "signature", "text", path)
        text = take(detail, "text", "text", path) or take(detail, "summary", "text", path) or ""
        yield {"type": "thinking", "text": text, "signature": signature, "redacted": bool(data)}
    if not details:
        text = take(message, "reasoning_content", "text", where) or take(message, "reasoning", "text", where)
        if text:
            yield {"type": "thinking", "text": text, "signature": None, "redacted": False}


def called(call: Json, where: str) -> Json:
    """Return a call; the arguments of a custom tool are text, not JSON."""
    custom = take(call, "type", "text", where) == "custom"
    key, held = ("custom", "input") if custom else ("function", "arguments")
    function, inside = need(call, key, "object", where), at(where, key)
    text = take(function, held, "text", inside) or ""
    return {
        "type": "tool_call",
        "id": need(call, "id", "name", where),
        "name": need(function, "name", "name", inside),
        "arguments": text if custom else value(text),
        "arguments_text": text,
        "complete": True,
        "executor": "client",
    }


def value(text: str) -> Any:
    """Return the value of arguments' text: blank text is an empty object, invalid JSON is None."""
    if not text.strip():
        return {}
    try:
        return codec.loads_text(text)
    except codec.NotJsonError:
        return None
