"""Read the body of `POST /v1/chat/completions` as a conversation.

Source: https://platform.openai.com/docs/api-reference/chat/create and the types in the `openai` package
(3.54.0); `request` names the sources for other hosts' fields.

- `system` and `developer` messages become paragraphs of a single system prompt, wherever they appear.
- Adjacent `tool` messages are the results of one answer.
- The text of arguments is kept next to their value; text that cannot be parsed stays text.
- Clients of hosts that show thinking send the thinking back; only OpenRouter's details contain a signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Json
from streamconform_reference.requests.errors import invalid_request
from streamconform_reference.requests.fields import (
    join_path,
    read_choice,
    read_field,
    read_objects,
    read_positive,
    require_field,
    unknown_value,
    unsupported,
)
from streamconform_reference.requests.option_table import read_options
from streamconform_reference.requests.options import BUDGETS

from .request import OPTIONS
from .tool_calls import read_signature

_CHOICES: Final = {entry: entry for entry in ("none", "auto", "required")}
_EFFORTS: Final[Mapping[str, Any]] = {
    "none": "off",
    **{entry: {"effort": entry} for entry in BUDGETS},
    "xhigh": {"effort": "max"},
}
_SWITCH: Final = {"enabled": {}, "disabled": "off"}
_DATA_URL: Final = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.+)", re.DOTALL)


def read_conversation(body: Json, headers: Mapping[str, str]) -> Json:
    """Return the conversation (conversation.v1); the headers are not used.

    Raises:
        RequestError: the body is invalid, or contains something that a conversation cannot represent.
    """
    del headers
    conversation: Json = {"model": require_field(body, "model", "name")}
    if read_field(body, "n", "count") not in (None, 1):
        raise unsupported("n", "more than one answer")
    tools = [read_tool(entry, parent) for parent, entry in read_objects(body, "tools")]
    if tools:
        conversation["tools"] = tools
    if body.get("tool_choice") is not None:
        conversation["tool_choice"] = read_tool_choice(body)
    conversation |= {"stream": False} | read_options(OPTIONS, body)
    conversation |= read_thinking(body) | read_output_schema(body)
    system, messages = read_messages(body)
    return conversation | ({"system": system} if system else {}) | {"messages": messages}


def read_tool(value: Json, parent: str) -> Json:
    """Return a tool; missing parameters mean none."""
    if require_field(value, "type", "text", parent) != "function":
        raise unsupported(join_path(parent, "type"), f"a tool of type `{value['type']}`")
    function, inside = require_field(value, "function", "object", parent), join_path(parent, "function")
    result: Json = {"name": require_field(function, "name", "name", inside)}
    if read_field(function, "description", "text", inside):
        result["description"] = function["description"]
    result["parameters"] = read_field(function, "parameters", "object", inside) or {}
    if read_field(function, "strict", "true or false", inside) is not None:
        result["strict"] = function["strict"]
    return result


def read_tool_choice(body: Json) -> Any:
    """Return the tool choice."""
    if isinstance(body["tool_choice"], str):
        return read_choice(body, "tool_choice", _CHOICES)
    value = read_field(body, "tool_choice", "object")
    if require_field(value, "type", "text", "tool_choice") != "function":
        raise unsupported("tool_choice.type", f"a choice of type `{value['type']}`")
    function = require_field(value, "function", "object", "tool_choice")
    return {"name": require_field(function, "name", "name", "tool_choice.function")}


def read_output_schema(body: Json) -> Json:
    """Return the answer's schema as a field; `json_object` has none."""
    form = read_field(body, "response_format", "object")
    # OpenAI rejects `json_object` unless the messages ask for JSON, so in another API, the messages ask for
    # it too.
    if form is None or require_field(form, "type", "text", "response_format") in ("text", "json_object"):
        return {}
    if form["type"] != "json_schema":
        raise unsupported("response_format.type", f"an answer of type `{form['type'][:64]}`")
    parent = "response_format.json_schema"
    named = require_field(form, "json_schema", "object", "response_format")
    result: Json = {
        "name": require_field(named, "name", "name", parent),
        "schema": require_field(named, "schema", "object", parent),
    }
    if read_field(named, "strict", "true or false", parent) is not None:
        result["strict"] = named["strict"]
    return {"output_schema": result}


def read_thinking(body: Json) -> Json:
    """Return the thinking options as a field; nothing if none are requested."""
    options: Any = read_choice(body, "reasoning_effort", _EFFORTS)
    switch, detailed = read_field(body, "thinking", "object"), read_field(body, "reasoning", "object")
    if switch is not None:
        switched = read_choice(switch, "type", _SWITCH, "thinking")
        options = switched if switched == "off" or options is None else options
    if detailed is not None:
        budget = read_positive(detailed, "max_tokens", "reasoning")
        options = {"budget": budget} if budget else read_choice(detailed, "effort", _EFFORTS, "reasoning")
        if options is None:
            options = "off" if detailed.get("enabled") is False else {}
    return {} if options is None else {"thinking": options}


def read_messages(body: Json) -> tuple[str, list[Json]]:
    """Return the system prompt, and the messages."""
    require_field(body, "messages", "list")
    system: list[str] = []
    result: list[Json] = []
    names: dict[str, str] = {}  # tool names by call id
    for parent, message in read_objects(body, "messages"):
        role = require_field(message, "role", "text", parent)
        match role:
            case "system" | "developer":
                system += (part["text"] for part in _read_texts(message, parent))
            case "user":
                result.append({"role": "user", "content": read_user_message(message, parent)})
            case "assistant":
                blocks = list(read_answer(message, parent))
                names |= {block["id"]: block["name"] for block in blocks if block["type"] == "tool_call"}
                result.append({"role": "assistant", "content": blocks})
            case "tool":
                if not result or result[-1]["role"] != "tool":
                    result.append({"role": "tool", "results": []})
                result[-1]["results"].append(read_result(message, parent, names))
            case _:
                raise unknown_value(
                    join_path(parent, "role"), role, "system", "developer", "user", "assistant", "tool"
                )
    if not result:
        raise invalid_request("messages: at least one message besides the system prompt is required")
    return "\n\n".join(filter(None, system)), result


def read_user_message(message: Json, parent: str) -> Any:
    """Return a user message's content: text, or parts."""
    if isinstance(message.get("content"), str):
        return message["content"]
    require_field(message, "content", "list", parent)
    parts = [read_part(entry, path) for path, entry in read_objects(message, "content", parent)]
    if not parts:
        raise invalid_request(f"{join_path(parent, 'content')}: at least one part is required")
    return parts


def read_part(part: Json, parent: str) -> Json:
    """Return a part of a user message."""
    kind = require_field(part, "type", "text", parent)
    if kind == "text":
        return {"type": "text", "text": require_field(part, "text", "text", parent)}
    if kind != "image_url":
        raise unsupported(join_path(parent, "type"), f"a part of type `{kind[:64]}`")
    image, inside = require_field(part, "image_url", "object", parent), join_path(parent, "image_url")
    match = _DATA_URL.fullmatch(require_field(image, "url", "text", inside))
    if match is None:
        raise unsupported(join_path(inside, "url"), "an image that is not a base64 `data:` URL")
    return {"type": "image", "media_type": match["type"], "data": match["data"]}


def _read_texts(message: Json, parent: str) -> list[Json]:
    """Return the parts of a message that contains only text."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [
        {"type": "text", "text": require_field(part, "text", "text", path)}
        for path, part in read_objects(message, "content", parent)
    ]


def read_result(message: Json, parent: str, names: Mapping[str, str]) -> Json:
    """Return a call's result."""
    call = require_field(message, "tool_call_id", "text", parent)
    if call not in names:
        raise invalid_request(
            f"{join_path(parent, 'tool_call_id')}: no earlier call has the id `{call[:64]}`"
        )
    parts = _read_texts(message, parent)
    text = isinstance(message.get("content"), str) or not parts
    return {"id": call, "name": names[call], "content": message.get("content") or "" if text else parts}


def read_answer(message: Json, parent: str) -> Iterator[Json]:
    """Yield an earlier answer's blocks, in the same form as in an outcome: thinking, text, refusal, calls."""
    yield from _read_thoughts(message, parent)
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        for path, part in read_objects(message, "content", parent):
            kind = read_choice(part, "type", {"text": "text", "refusal": "refusal"}, path) or "text"
            yield {"type": kind, "text": require_field(part, kind, "text", path)}
    if read_field(message, "refusal", "text", parent):
        yield {"type": "refusal", "text": message["refusal"]}
    for path, call in read_objects(message, "tool_calls", parent):
        yield read_call(call, path)


def _read_thoughts(message: Json, parent: str) -> Iterator[Json]:
    """Yield thinking, from details if there are any, or else from the first field with text."""
    details = list(read_objects(message, "reasoning_details", parent))
    for path, detail in details:
        data = read_field(detail, "data", "text", path)
        signature = data or read_field(detail, "signature", "text", path)
        text = read_field(detail, "text", "text", path) or read_field(detail, "summary", "text", path) or ""
        yield {"type": "thinking", "text": text, "signature": signature, "redacted": bool(data)}
    if not details:
        text = read_field(message, "reasoning_content", "text", parent) or read_field(
            message, "reasoning", "text", parent
        )
        if text:
            yield {"type": "thinking", "text": text, "signature": None, "redacted": False}


def read_call(call: Json, parent: str) -> Json:
    """Return a call; the arguments of a custom tool are text, not JSON."""
    custom = read_field(call, "type", "text", parent) == "custom"
    key, key_of_text = ("custom", "input") if custom else ("function", "arguments")
    function, inside = require_field(call, key, "object", parent), join_path(parent, key)
    text = read_field(function, key_of_text, "text", inside) or ""
    signature = read_signature(call)
    return {
        "type": "tool_call",
        "id": require_field(call, "id", "name", parent),
        "name": require_field(function, "name", "name", inside),
        "arguments": text if custom else parse_arguments(text),
        "arguments_text": text,
        "complete": True,
        "executor": "client",
        **({"signature": signature} if signature else {}),
    }


def parse_arguments(text: str) -> Any:
    """Parse a call's arguments: blank text gives an empty object, and invalid JSON gives None."""
    if not text.strip():
        return {}
    try:
        return codec.loads_text(text)
    except codec.NotJsonError:
        return None
