"""Convert Anthropic's messages, as its SDK returns them: events, or a complete message."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from streamconform.normal.blocks import Block, Error, build_call, build_other, build_outcome, get, subtract
from streamconform.normal.stop_reasons import ANTHROPIC

DELTA_FIELDS: Final[Mapping[str, str]] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}


def convert_anthropic_message(
    message: Any, done: Collection[int] | None = None, *, ended: bool = True, error: Error | None = None
) -> dict[str, Any]:
    """Return the outcome of a message, or of None if the SDK returned nothing.

    `done` contains the indexes of the completed blocks (None: all). The stop reason of a snapshot, whose
    stream has not `ended`, is not used.
    """
    stop = get(message, "stop_reason") if ended else None
    return build_outcome(
        [
            _convert_whole_block(block, done=done is None or index in done)
            for index, block in enumerate(get(message, "content") or [])
        ],
        ANTHROPIC.get(stop, "other") if stop else None,
        stop,
        usage=_read_usage(dict(get(message, "usage") or {})),
        error=error,
        model=get(message, "model"),
        response_id=get(message, "id"),
    )


def convert_anthropic_events(events: Iterable[Any], *, error: Error | None = None) -> dict[str, Any]:
    """Return the outcome of the events, added up as the SDK's documentation shows."""
    message: Any = None
    stop: str | None = None
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    ended = False
    for event in events:
        kind, index = get(event, "type"), get(event, "index")
        if kind == "message_start":
            message = get(event, "message")
            usage |= _drop_nulls(get(message, "usage"))
        elif kind == "content_block_start":
            blocks[index] = {"start": get(event, "content_block"), "done": False}
        elif kind == "content_block_delta":
            _add_delta(blocks.setdefault(index, {"start": None, "done": False}), get(event, "delta"))
        elif kind == "content_block_stop" and index in blocks:
            blocks[index]["done"] = True
        elif kind == "message_delta":
            stop = get(event, "delta", "stop_reason") or stop
            usage |= _drop_nulls(get(event, "usage"))
        elif kind == "message_stop":
            ended = True
    # The stop reason is in `message_delta`, but only `message_stop` ends the message.
    return build_outcome(
        [_convert_block(block) for block in blocks.values()],
        (ANTHROPIC.get(stop, "other") if stop else "other") if ended else None,
        stop if ended else None,
        usage=_read_usage(usage),
        error=error,
        model=get(message, "model"),
        response_id=get(message, "id"),
    )


def _convert_whole_block(block: Any, *, done: bool) -> Block:
    id_, name, input_ = get(block, "id"), get(block, "name"), get(block, "input")
    match get(block, "type"):
        case "text":
            return {"type": "text", "text": get(block, "text") or ""}
        case "thinking":
            return {"type": "thinking", "text": get(block, "thinking"), "signature": get(block, "signature")}
        case "redacted_thinking":
            return {"type": "thinking", "text": "", "signature": get(block, "data"), "redacted": True}
        case "tool_use":
            return build_call(id_, name, input_, complete=done)
        case "server_tool_use" | "mcp_tool_use":
            return build_call(id_, name, input_, complete=done, executor="provider")
        case kind:
            return build_other(str(kind))


def _add_delta(block: dict[str, Any], delta: Any) -> None:
    kind = get(delta, "type")
    field = DELTA_FIELDS.get(kind)
    if field:
        block[field] = block.get(field, "") + (get(delta, field) or "")
    elif kind == "signature_delta":
        block["signature"] = get(delta, "signature")


def _convert_block(block: dict[str, Any]) -> Block:
    """Build a block from its start event and the text that its deltas added."""
    start, kind = block["start"], get(block["start"], "type")
    # Without a start event, only the deltas show that the block is a text.
    if kind == "text" or (kind is None and "text" in block):
        return {"type": "text", "text": (get(start, "text") or "") + block.get("text", "")}
    if kind == "thinking":
        text = (get(start, "thinking") or "") + block.get("thinking", "")
        return {
            "type": "thinking",
            "text": text,
            "signature": block.get("signature") or get(start, "signature"),
        }
    if kind in {"tool_use", "server_tool_use", "mcp_tool_use"}:
        # Some calls have their complete input in the start event and no deltas.
        text, input_ = block.get("partial_json", ""), get(start, "input")
        arguments = text if text.strip() or not input_ else input_
        executor = "client" if kind == "tool_use" else "provider"
        name = get(start, "name")
        return build_call(get(start, "id"), name, arguments, complete=block["done"], executor=executor)
    return _convert_whole_block(start, done=block["done"])


def _drop_nulls(usage: Any) -> dict[str, Any]:
    """Return only the non-null fields, so that a later null does not erase an earlier count."""
    return {name: value for name, value in dict(usage or {}).items() if value is not None}


def _read_usage(usage: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the usage buckets, using the last value that was reported for each of the SDK's usage fields."""
    return {
        "input": subtract(usage.get("input_tokens")),
        "cache_read": usage.get("cache_read_input_tokens"),
        "cache_write": usage.get("cache_creation_input_tokens"),
        "cache_write_1h": get(usage.get("cache_creation"), "ephemeral_1h_input_tokens"),
        "output": usage.get("output_tokens"),
        "reasoning": get(usage.get("output_tokens_details"), "thinking_tokens"),
        "web_searches": get(usage.get("server_tool_use"), "web_search_requests"),
    }
