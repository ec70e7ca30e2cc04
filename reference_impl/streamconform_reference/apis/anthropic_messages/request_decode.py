"""Read the body of `POST /v1/messages` as a conversation.

Source: https://platform.claude.com/docs/en/api/messages, and the types in the `anthropic` package (2.12.0).

- Results and the user's other content become two messages, with the results first.
- The cache duration is the longest that any mark requests.
- Each block of a system prompt becomes a paragraph.
- A tool without a schema is one that Anthropic runs or defines, so no other API can run it. Images and
  documents that are referenced but not included cannot be passed on either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamconform_reference.apis.anthropic_messages.content import CITATIONS
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

_CHOICES: Final = {"auto": "auto", "any": "required", "none": "none", "tool": "tool"}
_EFFORTS: Final = {entry: entry for entry in BUDGETS} | {"xhigh": "max"}
_THINKING: Final = {"disabled": "off", "enabled": "budget", "adaptive": "free", "between_tools": "free"}
_HOUR: Final = "1h"


def read_conversation(body: Json, headers: Mapping[str, str]) -> Json:
    """Return the conversation (conversation.v1); the headers are not used.

    Raises:
        RequestError: the body is invalid, or contains something that a conversation cannot represent.
    """
    del headers
    conversation: Json = {"model": require_field(body, "model", "name")}
    conversation |= {"stream": False} | read_options(OPTIONS, body)
    system = _read_system(body)
    if system:
        conversation["system"] = system
    tools = [read_tool(entry, parent) for parent, entry in read_objects(body, "tools")]
    if tools:
        conversation["tools"] = tools
    conversation |= read_tool_choice(body) | read_thinking(body) | _read_cache(body)
    conversation |= _read_output_schema(body)
    return {**conversation, "messages": read_messages(body)}


def _read_system(body: Json) -> str:
    """Return the system prompt; empty if there is none."""
    value = body.get("system")
    if value is None or isinstance(value, str):
        return value or ""
    texts = [require_field(block, "text", "text", parent) for parent, block in read_objects(body, "system")]
    return "\n\n".join(filter(None, texts))


def read_tool(value: Json, parent: str) -> Json:
    """Return a client tool."""
    if read_field(value, "type", "text", parent) not in (None, "custom"):
        raise unsupported(join_path(parent, "type"), f"`{value['type']}`, a tool that Anthropic defines,")
    result: Json = {"name": require_field(value, "name", "name", parent)}
    if read_field(value, "description", "text", parent):
        result["description"] = value["description"]
    result["parameters"] = require_field(value, "input_schema", "object", parent)
    if read_field(value, "strict", "true or false", parent) is not None:
        result["strict"] = value["strict"]
    return result


def read_tool_choice(body: Json) -> Json:
    """Return the tool choice and the limit on parallel calls, as fields."""
    value = read_field(body, "tool_choice", "object")
    if value is None:
        return {}
    require_field(value, "type", "text", "tool_choice")
    choice = read_choice(value, "type", _CHOICES, "tool_choice")
    if choice == "tool":
        choice = {"name": require_field(value, "name", "name", "tool_choice")}
    forbids_parallel = read_field(value, "disable_parallel_tool_use", "true or false", "tool_choice")
    return {"tool_choice": choice} | ({"parallel_tool_calls": False} if forbids_parallel else {})


def read_thinking(body: Json) -> Json:
    """Return the thinking options as a field; nothing if none are requested."""
    value = read_field(body, "thinking", "object")
    if value is None:
        return {}
    require_field(value, "type", "text", "thinking")
    kind = read_choice(value, "type", _THINKING, "thinking")
    if kind == "off":
        return {"thinking": "off"}
    if kind == "budget":
        require_field(value, "budget_tokens", "count", "thinking")
        return {"thinking": {"budget": read_positive(value, "budget_tokens", "thinking")}}
    config = read_field(body, "output_config", "object") or {}
    effort = read_choice(config, "effort", _EFFORTS, "output_config")
    return {"thinking": {"effort": effort} if effort else {}}


def _read_cache(body: Json) -> Json:
    """Return the cache duration as a field, if anything is cached."""
    marks = [read_field(holder, "cache_control", "object") for holder in _find_cache_holders(body)]
    durations = [read_field(mark, "ttl", "text", "cache_control") for mark in marks if mark]
    return {"cache": "long" if _HOUR in durations else "short"} if durations else {}


def _read_output_schema(body: Json) -> Json:
    """Return the answer's schema as a field; Anthropic always enforces it."""
    form = read_field(read_field(body, "output_config", "object") or {}, "format", "object", "output_config")
    if form is None:
        return {}
    schema = require_field(form, "schema", "object", "output_config.format")
    return {"output_schema": {"schema": schema, "strict": True}}


def read_messages(body: Json) -> list[Json]:
    """Return the messages."""
    require_field(body, "messages", "list")
    result: list[Json] = []
    names: dict[str, str] = {}  # tool names by call id
    for parent, message in read_objects(body, "messages"):
        role = require_field(message, "role", "text", parent)
        if message.get("content") is None:
            raise invalid_request(f"{join_path(parent, 'content')}: this field is required")
        if role == "user":
            result += read_user_message(message, parent, names)
        elif role == "assistant":
            blocks = list(read_answer(message, parent))
            names |= {block["id"]: block["name"] for block in blocks if block["type"] == "tool_call"}
            result.append({"role": "assistant", "content": blocks})
        else:
            raise unknown_value(join_path(parent, "role"), role, "user", "assistant")
    if not result:
        raise invalid_request("messages: at least one message is required")
    return result


def read_user_message(message: Json, parent: str, names: Mapping[str, str]) -> Iterator[Json]:
    """Yield a user message's results, if any, then its other content, if any."""
    if isinstance(message["content"], str):
        yield {"role": "user", "content": message["content"]}
        return
    results: list[Json] = []
    parts: list[Json] = []
    for path, block in read_objects(message, "content", parent):
        if block.get("type") == "tool_result":
            results.append(read_result(block, path, names))
        else:
            parts += read_part(block, path)
    if not (results or parts):
        raise invalid_request(f"{join_path(parent, 'content')}: at least one block is required")
    if results:
        yield {"role": "tool", "results": results}
    if parts:
        yield {"role": "user", "content": parts}


def read_result(block: Json, parent: str, names: Mapping[str, str]) -> Json:
    """Return a call's result; missing content counts as empty text."""
    call = require_field(block, "tool_use_id", "text", parent)
    if call not in names:
        raise invalid_request(
            f"{join_path(parent, 'tool_use_id')}: no earlier `tool_use` has the id `{call[:64]}`"
        )
    content: Any = block.get("content") or ""
    if not isinstance(content, str):
        content = [
            part for path, entry in read_objects(block, "content", parent) for part in read_part(entry, path)
        ]
    result: Json = {"id": call, "name": names[call], "content": content or ""}
    failed = read_field(block, "is_error", "true or false", parent)
    return result | ({"error": True} if failed else {})


def read_part(block: Json, parent: str) -> Iterator[Json]:
    """Yield the parts of a block in a user message or a result."""
    kind = require_field(block, "type", "text", parent)
    match kind:
        case "text":
            yield {"type": "text", "text": require_field(block, "text", "text", parent)}
        case "image":
            yield _read_image(require_field(block, "source", "object", parent), join_path(parent, "source"))
        case "document":
            source = require_field(block, "source", "object", parent)
            _require_source_type(source, "text", "document", join_path(parent, "source"))
            yield {"type": "text", "text": require_field(source, "data", "text", join_path(parent, "source"))}
        case "search_result":
            for path, entry in read_objects(block, "content", parent):
                yield {"type": "text", "text": require_field(entry, "text", "text", path)}
        case _:
            raise unsupported(join_path(parent, "type"), f"a block of type `{kind[:64]}`")


def _read_image(source: Json, parent: str) -> Json:
    """Return an image, whose data must be included."""
    _require_source_type(source, "base64", "image", parent)
    return {
        "type": "image",
        "media_type": require_field(source, "media_type", "name", parent),
        "data": require_field(source, "data", "name", parent),
    }


def _require_source_type(source: Json, expected_type: str, feature: str, parent: str) -> None:
    """Raise an error unless the source has the one type that can be passed on."""
    kind = require_field(source, "type", "text", parent)
    if kind != expected_type:
        raise unsupported(
            join_path(parent, "type"),
            f"the {feature} of a source of type `{kind[:64]}`, not `{expected_type}`,",
        )


def read_answer(message: Json, parent: str) -> Iterator[Json]:
    """Yield an earlier answer's blocks, in the same form as in an outcome."""
    if isinstance(message["content"], str):
        yield {"type": "text", "text": message["content"]}
        return
    for path, block in read_objects(message, "content", parent):
        yield from _read_answer_block(block, path)


def _read_answer_block(block: Json, parent: str) -> Iterator[Json]:
    """Yield a block of an answer; blocks that only Anthropic understands stay unchanged."""
    kind = require_field(block, "type", "text", parent)
    match kind:
        case "text":
            sources = read_field(block, "citations", "list", parent) or ()
            citations = [CITATIONS.read(source).to_json() for source in sources]
            cited = {"citations": citations} if citations else {}
            yield {"type": "text", "text": require_field(block, "text", "text", parent), **cited}
        case "thinking":
            text = read_field(block, "thinking", "text", parent) or ""
            signature = read_field(block, "signature", "text", parent)
            yield {"type": "thinking", "text": text, "signature": signature or None, "redacted": False}
        case "redacted_thinking":
            data = require_field(block, "data", "text", parent)
            yield {"type": "thinking", "text": "", "signature": data, "redacted": True}
        case "tool_use" | "server_tool_use":
            yield {
                "type": "tool_call",
                "id": require_field(block, "id", "name", parent),
                "name": require_field(block, "name", "name", parent),
                "arguments": require_field(block, "input", "object", parent),
                "arguments_text": None,
                "complete": True,
                "executor": "client" if kind == "tool_use" else "provider",
            }
        case _:
            yield {"type": "other", "kind": kind, "data": block}


def _find_cache_holders(body: Json) -> Iterator[Json]:
    """Yield every object that can have a cache mark."""
    yield body
    for key in ("system", "tools"):
        yield from _objects(body.get(key))
    for message in _objects(body.get("messages")):
        for block in _objects(message.get("content")):
            yield block
            yield from _objects(block.get("content"))


def _objects(value: Any) -> Iterable[Json]:
    return (entry for entry in value if isinstance(entry, dict)) if isinstance(value, list) else ()
