"""`peer:anthropic`: the Anthropic SDK, its events as they come, added up as its documentation does."""

from __future__ import annotations

from typing import Any

from streamconform.peers.anthropic.errors import STOPS, client, counts, request, told
from streamconform.peers.normal_form import Block, Error, at, call, other, outcome, words


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `messages.create(stream=True)`."""
    create = client(run).messages.create
    events: list[Any] = []
    error: Error | None = None
    try:
        for event in create(**words(create, {**request(run), "stream": True})):
            events.append(event)  # noqa: PERF402 - those before an exception count
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    message: Any = None
    stop: str | None = None
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    ended = False
    for event in events:
        if event.type == "message_start":
            message = event.message
            usage |= _reported(message.usage)
        elif event.type == "content_block_start":
            blocks[event.index] = {"of": event.content_block, "done": False}
        elif event.type == "content_block_delta":
            _add(blocks.setdefault(event.index, {"of": None, "done": False}), event.delta)
        elif event.type == "content_block_stop" and event.index in blocks:
            blocks[event.index]["done"] = True
        elif event.type == "message_delta":
            stop = event.delta.stop_reason or stop
            usage |= _reported(event.usage)
        elif event.type == "message_stop":
            ended = True
    return outcome(
        [_block(each) for each in blocks.values()],
        (STOPS.get(stop, "other") if stop else "other") if ended else None,
        stop if ended else None,
        usage=counts(usage),
        error=error,
        model=at(message, "model"),
        response_id=at(message, "id"),
    )


PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def _add(block: dict[str, Any], delta: Any) -> None:
    field = PIECES.get(delta.type)
    if field:
        block[field] = block.get(field, "") + (getattr(delta, field) or "")
    elif delta.type == "signature_delta":
        block["signature"] = delta.signature


def _block(block: dict[str, Any]) -> Block:
    """Return a block: what it began with, and what its deltas brought."""
    start, kind = block["of"], at(block["of"], "type")
    if kind == "text" or (kind is None and "text" in block):
        return {"type": "text", "text": (at(start, "text") or "") + block.get("text", "")}
    if kind == "thinking":
        text = (start.thinking or "") + block.get("thinking", "")
        return {"type": "thinking", "text": text, "signature": block.get("signature") or start.signature}
    if kind == "redacted_thinking":
        return {"type": "thinking", "text": "", "signature": start.data, "redacted": True}
    if kind in {"tool_use", "server_tool_use", "mcp_tool_use"}:
        by = "client" if kind == "tool_use" else "provider"
        text = block.get("partial_json", "")
        arguments = text if text.strip() or not start.input else start.input
        return call(start.id, start.name, arguments, complete=block["done"], executor=by)
    return other(str(kind))


def _reported(usage: Any) -> dict[str, Any]:
    return {name: value for name, value in dict(usage or {}).items() if value is not None}
