"""Convert the non-streaming answers from Cohere's `chat()`, in v2 and v1."""

from __future__ import annotations

from typing import Any

from streamconform.normal.blocks import Block, Error, append_text, build_call, build_outcome, get
from streamconform.normal.stop_reasons import COHERE_V1
from streamconform_peers.cohere.v1 import ERROR_REASONS, read_events, read_usage


def convert_v2(response: Any, error: Error | None) -> dict[str, Any]:
    """Return the outcome of a non-streaming answer; `response` is None if the SDK returned nothing."""
    content: list[Block] = []
    append_text(content, "thinking", get(response, "message", "tool_plan"))
    for part in get(response, "message", "content") or []:
        if get(part, "type") in ("thinking", "text"):
            append_text(content, part.type, get(part, part.type))
    for call in get(response, "message", "tool_calls") or []:
        function = call.function
        content.append(build_call(call.id, get(function, "name"), get(function, "arguments") or ""))
    stop = get(response, "finish_reason")
    if stop in ERROR_REASONS:
        error = {"type": stop, "message": None, "status": None}
    reason = COHERE_V1.get(stop, "other") if response is not None else None
    usage = read_usage(get(response, "usage"))
    return build_outcome(content, reason, stop, usage=usage, error=error, response_id=get(response, "id"))


def convert_v1(response: Any, error: Error | None) -> dict[str, Any]:
    """Return the outcome of a non-streaming answer; `response` is None if the SDK returned nothing."""
    if response is None:
        return read_events((), error)
    # Read as the events of a stream, whose last event repeats the whole answer.
    stop, id_ = response.finish_reason, get(response, "generation_id")
    return read_events(
        (
            {"event_type": "stream-start", "generation_id": id_},
            {"event_type": "text-generation", "text": response.text},
            {"event_type": "stream-end", "finish_reason": stop, "response": response},
        ),
        error,
    )
