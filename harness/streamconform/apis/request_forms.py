"""Equivalent forms shared by several APIs: text or one part, a null member or an absent one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamconform.apis.payloads import Payload, as_objects

Json = dict[str, Any]
FindId = Callable[[Mapping[str, Any]], Any]


def drop_nulls(body: Mapping[str, Any]) -> Json:
    """Drop the body's null members, which mean the default; a deeper null may mean something else."""
    return {name: value for name, value in body.items() if value is not None}


def as_parts(content: Any, type_: str) -> Any:
    """Return text as the equivalent list of one part, and anything else unchanged."""
    return [{"type": type_, "text": content}] if isinstance(content, str) else content


def map_messages(messages: Any, change: Callable[[Json], Json]) -> Any:
    """Return the list `messages` with `change` applied to every object, and anything else unchanged."""
    if not isinstance(messages, list):
        return messages
    return [change(dict(message)) if isinstance(message, Mapping) else message for message in messages]


def order_results(messages: Any, call_id: FindId, result_id: FindId) -> Any:
    """Sort the results in each message by the place of their calls in the message before.

    Ids match results to calls, so their order means nothing.
    """
    if not isinstance(messages, list):
        return messages
    pairs = zip([None, *messages], messages, strict=False)
    return [_order_message(before, message, call_id, result_id) for before, message in pairs]


def _order_message(before: Any, message: Any, call_id: FindId, result_id: FindId) -> Any:
    if not (isinstance(before, Mapping) and isinstance(message, Mapping)):
        return message
    blocks = message.get("content")
    if not isinstance(blocks, list):
        return message
    calls = as_objects(before.get("content"))
    places = {str(call_id(block)): place for place, block in enumerate(calls)}
    names = [result_id(block) if isinstance(block, Mapping) else None for block in blocks]
    results = [(places.get(str(name), len(calls)), n) for n, name in enumerate(names) if name is not None]
    moved = dict(zip([n for _, n in results], [n for _, n in sorted(results)], strict=True))
    return {**message, "content": [blocks[moved.get(n, n)] for n in range(len(blocks))]}


def with_content_parts(message: Json) -> Json:
    """Return `message` with text in `content` converted to a list of one text part."""
    return {**message, "content": as_parts(message["content"], "text")} if "content" in message else message


def declares_tool(prefix: str) -> Callable[[Payload], bool]:
    """Return the test whether a body has a tool whose `type` is `prefix`, or begins with it and a date."""

    def test(body: Payload) -> bool:
        types = (str(tool.get("type")) for tool in as_objects(body.get("tools")))
        return any(type_ == prefix or type_.startswith(f"{prefix}_") for type_ in types)

    return test


def has_member(name: str) -> Callable[[Payload], bool]:
    """Return the test whether a body has the member `name` with a value."""
    return lambda body: bool(body.get(name))
