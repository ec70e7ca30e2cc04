"""`peer:anthropic`: the Anthropic SDK's raw events, aggregated as its documentation shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import anthropic

from streamconform_peers import control
from streamconform_peers.anthropic.accumulated import convert_message
from streamconform_peers.anthropic.errors import (
    build_request,
    describe_error,
    get_client,
    read_usage,
)
from streamconform_peers.normal_form import (
    Block,
    Error,
    ExceptionKeeper,
    build_call,
    build_keywords,
    build_other,
    build_outcome,
    get,
)
from streamconform_peers.stop_reasons import ANTHROPIC


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `messages.create(stream=True)`, or of the non-streaming message."""
    return read_answer(
        run, get_client(run), lambda: get_client(run, anthropic.AsyncAnthropic), describe_error
    )


def read_answer(
    run: Any,
    client: Any,
    get_async_client: Callable[[], Any],
    describe_error: Callable[[Exception], Error | None],
) -> dict[str, Any]:
    """Return the outcome of a run with `client`; `describe_error` is passed to `ExceptionKeeper`."""
    create = client.messages.create
    keywords = build_keywords(create, build_request(run))
    events: list[Any] = []
    message: Any = None
    if not run.stream:
        with ExceptionKeeper(describe_error) as kept:
            message = create(**keywords)
        return convert_message(message, kept)
    keywords["stream"] = True
    with ExceptionKeeper(describe_error) as kept:
        control.read(
            run,
            events,
            lambda: _add_up(events, kept),
            lambda: create(**keywords),
            lambda: get_async_client().messages.create(**keywords),
        )
    return _add_up(events, kept)


def _add_up(events: Iterable[Any], kept: ExceptionKeeper) -> dict[str, Any]:
    """Return the outcome of the events."""
    message: Any = None
    stop: str | None = None
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    ended = False
    for event in events:
        if event.type == "message_start":
            message = event.message
            usage |= _drop_nulls(message.usage)
        elif event.type == "content_block_start":
            blocks[event.index] = {"start": event.content_block, "done": False}
        elif event.type == "content_block_delta":
            _add_delta(blocks.setdefault(event.index, {"start": None, "done": False}), event.delta)
        elif event.type == "content_block_stop" and event.index in blocks:
            blocks[event.index]["done"] = True
        elif event.type == "message_delta":
            stop = event.delta.stop_reason or stop
            usage |= _drop_nulls(event.usage)
        elif event.type == "message_stop":
            ended = True
    # The stop reason is in `message_delta`, but only `message_stop` ends the message.
    return build_outcome(
        [_convert_block(block) for block in blocks.values()],
        (ANTHROPIC.get(stop, "other") if stop else "other") if ended else None,
        stop if ended else None,
        usage=read_usage(usage),
        error=kept.error,
        model=get(message, "model"),
        response_id=get(message, "id"),
    )


DELTA_FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def _add_delta(block: dict[str, Any], delta: Any) -> None:
    field = DELTA_FIELDS.get(delta.type)
    if field:
        block[field] = block.get(field, "") + (getattr(delta, field) or "")
    elif delta.type == "signature_delta":
        block["signature"] = delta.signature


def _convert_block(block: dict[str, Any]) -> Block:
    """Build a block from its start event and the text that its deltas added."""
    start, kind = block["start"], get(block["start"], "type")
    # Without a start event, only the deltas show that the block is a text.
    if kind == "text" or (kind is None and "text" in block):
        return {"type": "text", "text": (get(start, "text") or "") + block.get("text", "")}
    if kind == "thinking":
        text = (start.thinking or "") + block.get("thinking", "")
        return {"type": "thinking", "text": text, "signature": block.get("signature") or start.signature}
    if kind == "redacted_thinking":
        return {"type": "thinking", "text": "", "signature": start.data, "redacted": True}
    if kind in {"tool_use", "server_tool_use", "mcp_tool_use"}:
        executor = "client" if kind == "tool_use" else "provider"
        text = block.get("partial_json", "")
        # Some calls have their complete input in the start event and no deltas.
        arguments = text if text.strip() or not start.input else start.input
        return build_call(start.id, start.name, arguments, complete=block["done"], executor=executor)
    return build_other(str(kind))


def _drop_nulls(usage: Any) -> dict[str, Any]:
    """Return only the non-null fields, so that a later null does not erase an earlier count."""
    return {name: value for name, value in dict(usage or {}).items() if value is not None}
