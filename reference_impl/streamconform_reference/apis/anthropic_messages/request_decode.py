"""Read the body of `POST /v1/messages` as a conversation.

Source: https://platform.claude.com/docs/en/api/messages, and the types of the `anthropic` package 2.12.0.

- Results and the user's other content become two messages, the results first.
- The cache duration is the longest that any mark requests.
- Each block of a system prompt becomes a paragraph.
- A tool without a schema is one that Anthropic runs or defines: no other API can run it. The same applies
  to images and documents that are named and not included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

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

_CHOICES: Final = {"auto": "auto", "any": "required", "none": "none", "tool": "tool"}
_EFFORTS: Final = {each: each for each in BUDGETS} | {"xhigh": "max"}
_THINKING: Final = {"disabled": "off", "enabled": "budget", "adaptive": "free", "between_tools": "free"}
_HOUR: Final = "1h"


def conversation(body: Json, headers: Mapping[str, str]) -> Json:
    """Return the conversation (conversation.v1); the headers are not used.

    Raises:
        RefusedError: the body is invalid, or contains something that a conversation cannot represent.
    """
    del headers
    asked: Json = {"model": need(body, "model", "name")}
    need(body, "max_tokens", "count")
    asked["max_tokens"] = positive(body, "max_tokens")
    system = system_of(body)
    if system:
        asked["system"] = system
    tools = [tool(each, where) for where, each in objects(body, "tools")]
    if tools:
        asked["tools"] = tools
    asked |= choice(body) | thinking(body) | cache(body)
    if take(body, "temperature", "number") is not None:
        asked["temperature"] = body["temperature"]
    user = take(take(body, "metadata", "object") or {}, "user_id", "text", "metadata")
    if user:
        asked["session"] = user
    asked["stream"] = take(body, "stream", "true or false") or False
    return {**asked, "messages": messages(body)}


def system_of(body: Json) -> str:
    """Return the system prompt, empty if there is none."""
    given = body.get("system")
    if given is None or isinstance(given, str):
        return given or ""
    texts = [need(block, "text", "text", where) for where, block in objects(body, "system")]
    return "\n\n".join(filter(None, texts))


def tool(given: Json, where: str) -> Json:
    """Return a client tool."""
    if take(given, "type", "text", where) not in (None, "custom"):
        raise not_passed_on(at(where, "type"), f"`{given['type']}`, a tool that Anthropic defines,")
    read: Json = {"name": need(given, "name", "name", where)}
    if take(given, "description", "text", where):
        read["description"] = given["description"]
    read["parameters"] = need(given, "input_schema", "object", where)
    if take(given, "strict", "true or false", where) is not None:
        read["strict"] = given["strict"]
    return read


def choice(body: Json) -> Json:
    """Return the tool choice and the limit on parallel calls, as fields."""
    given = take(body, "tool_choice", "object")
    if given is None:
        return {}
    need(given, "type", "text", "tool_choice")
    asked = words(given, "type", _CHOICES, "tool_choice")
    if asked == "tool":
        asked = {"name": need(given, "name", "name", "tool_choice")}
    one = take(given, "disable_parallel_tool_use", "true or false", "tool_choice")
    return {"tool_choice": asked} | ({"parallel_tool_calls": False} if one else {})


def thinking(body: Json) -> Json:
    """Return the thinking options as a field; absent means that none are requested."""
    given = take(body, "thinking", "object")
    if given is None:
        return {}
    need(given, "type", "text", "thinking")
    kind = words(given, "type", _THINKING, "thinking")
    if kind == "off":
        return {"thinking": "off"}
    if kind == "budget":
        need(given, "budget_tokens", "count", "thinking")
        return {"thinking": {"budget": positive(given, "budget_tokens", "thinking")}}
    config = take(body, "output_config", "object") or {}
    effort = words(config, "effort", _EFFORTS, "output_config")
    return {"thinking": {"effort": effort} if effort else {}}


def cache(body: Json) -> Json:
    """Return the cache duration as a field, if anything is cached."""
    marks = [take(holder, "cache_control", "object") for holder in _marked(body)]
    kept = [take(mark, "ttl", "text", "cache_control") for mark in marks if mark]
    return {"cache": "long" if _HOUR in kept else "short"} if kept else {}


def messages(body: Json) -> list[Json]:
    """Return the messages."""
    need(body, "messages", "list")
    read: list[Json] = []
    names: dict[str, str] = {}  # tool names by call id
    for where, message in objects(body, "messages"):
        role = need(message, "role", "text", where)
        if message.get("content") is None:
            raise invalid(f"{at(where, 'content')}: this field is required")
        if role == "user":
            read += said_by_user(message, where, names)
        elif role == "assistant":
            blocks = list(answer(message, where))
            names |= {block["id"]: block["name"] for block in blocks if block["type"] == "tool_call"}
            read.append({"role": "assistant", "content": blocks})
        else:
            raise other(at(where, "role"), role, "user", "assistant")
    if not read:
        raise invalid("messages: at least one message is required")
    return read


def said_by_user(message: Json, where: str, names: Mapping[str, str]) -> Iterator[Json]:
    """Yield the results in a user's message, if any, then its other content, if any."""
    if isinstance(message["content"], str):
        yield {"role": "user", "content": message["content"]}
        return
    results: list[Json] = []
    parts: list[Json] = []
    for path, block in objects(message, "content", where):
        if block.get("type") == "tool_result":
            results.append(result(block, path, names))
        else:
            parts += said(block, path)
    if not (results or parts):
        raise invalid(f"{at(where, 'content')}: at least one block is required")
    if results:
        yield {"role": "tool", "results": results}
    if parts:
        yield {"role": "user", "content": parts}


def result(block: Json, where: str, names: Mapping[str, str]) -> Json:
    """Return the result of a call; missing content is empty text."""
    call = need(block, "tool_use_id", "text", where)
    if call not in names:
        raise invalid(f"{at(where, 'tool_use_id')}: no `tool_use` before has the id `{call[:64]}`")
    content: Any = block.get("content") or ""
    if not isinstance(content, str):
        content = [part for path, each in objects(block, "content", where) for part in said(each, path)]
    read: Json = {"id": call, "name": names[call], "content": content or ""}
    failed = take(block, "is_error", "true or false", where)
    return read | ({"error": True} if failed else {})


def said(block: Json, where: str) -> Iterator[Json]:
    """Yield the parts of a block in a user's message or a result."""
    kind = need(block, "type", "text", where)
    match kind:
        case "text":
            yield {"type": "text", "text": need(block, "text", "text", where)}
        case "image":
            yield image(need(block, "source", "object", where), at(where, "source"))
        case "document":
            source = need(block, "source", "object", where)
            of_type(source, "text", "document", at(where, "source"))
            yield {"type": "text", "text": need(source, "data", "text", at(where, "source"))}
        case "search_result":
            for path, each in objects(block, "content", where):
                yield {"type": "text", "text": need(each, "text", "text", path)}
        case _:
            raise not_passed_on(at(where, "type"), f"a block of type `{kind[:64]}`")


def image(source: Json, where: str) -> Json:
    """Return an image, which has to be included as a file."""
    of_type(source, "base64", "image", where)
    return {
        "type": "image",
        "media_type": need(source, "media_type", "name", where),
        "data": need(source, "data", "name", where),
    }


def of_type(source: Json, wanted: str, what: str, where: str) -> None:
    """Raise unless the source has the one type that can be passed on."""
    kind = need(source, "type", "text", where)
    if kind != wanted:
        raise not_passed_on(
            at(where, "type"), f"the {what} of a source of type `{kind[:64]}`, not `{wanted}`,"
        )


def answer(message: Json, where: str) -> Iterator[Json]:
    """Yield the blocks of an earlier answer, in the form of an outcome."""
    if isinstance(message["content"], str):
        yield {"type": "text", "text": message["content"]}
        return
    for path, block in objects(message, "content", where):
        yield from answered(block, path)


def answered(block: Json, where: str) -> Iterator[Json]:
    """Yield a block of an answer; blocks that only Anthropic understands stay unchanged."""
    kind = need(block, "type", "text", where)
    match kind:
        case "text":
            yield {"type": "text", "text": need(block, "text", "text", where)}
            for citation in take(block, "citations", "list", where) or ():
                yield {"type": "other", "kind": "citation", "data": citation}
        case "thinking":
            text = take(block, "thinking", "text", where) or ""
            signature = take(block, "signature", "text", where)
            yield {"type": "thinking", "text": text, "signature": signature or None, "redacted": False}
        case "redacted_thinking":
            data = need(block, "data", "text", where)
            yield {"type": "thinking", "text": "", "signature": data, "redacted": True}
        case "tool_use" | "server_tool_use":
            yield {
                "type": "tool_call",
                "id": need(block, "id", "name", where),
                "name": need(block, "name", "name", where),
                "arguments": need(block, "input", "object", where),
                "arguments_text": None,
                "complete": True,
                "executor": "client" if kind == "tool_use" else "provider",
            }
        case _:
            yield {"type": "other", "kind": kind, "data": block}


def _marked(body: Json) -> Iterator[Json]:
    """Yield every object that can have a cache mark."""
    yield body
    for key in ("system", "tools"):
        yield from _objects(body.get(key))
    for message in _objects(body.get("messages")):
        for block in _objects(message.get("content")):
            yield block
            yield from _objects(block.get("content"))


def _objects(value: Any) -> Iterable[Json]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()
