"""Read the events of Cohere's v1 `Client.chat_stream()`: text from all, the rest only from the last."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from streamconform.normal.blocks import Block, Error, append_text, build_call, build_outcome, get, get_text
from streamconform.normal.stop_reasons import COHERE_V1

ERROR_REASONS: Final = frozenset({"ERROR", "TIMEOUT"})
"""Finish reasons that report a failure on the provider's side."""


def read_events(events: Iterable[Any], error: Error | None) -> dict[str, Any]:
    """Return the outcome of the events, given the error that ended them, if any."""
    events = list(events)
    end = next((event for event in events if get(event, "event_type") == "stream-end"), None)
    content: list[Block] = []
    pieces: dict[Any, dict[str, str]] = {}  # partial calls by index, used if no event has the complete calls
    calls = get(end, "response", "tool_calls")
    for event in events:
        match get(event, "event_type"):
            case "text-generation":
                append_text(content, "text", get(event, "text"))
            case "tool-calls-chunk":
                append_text(content, "text", get(event, "text"))
                piece = pieces.setdefault(
                    get(event, "tool_call_delta", "index"), {"name": "", "parameters": ""}
                )
                for name in piece:
                    piece[name] += get_text(event, "tool_call_delta", name)
            case "tool-calls-generation":
                calls = calls or event.tool_calls
            case _:
                pass
    if calls:
        content += [build_call(None, call.name, call.parameters) for call in calls]
    else:
        ended = end is not None
        content += [
            build_call(None, piece["name"], piece["parameters"], complete=ended)
            for piece in pieces.values()
            if piece["name"]
        ]
    stop = get(end, "finish_reason")
    if stop in ERROR_REASONS:
        error = {"type": stop, "message": get(end, "error"), "status": None}
    id_ = next(
        (get(event, "generation_id") for event in events if get(event, "event_type") == "stream-start"), None
    )
    reason = COHERE_V1.get(stop, "other") if end is not None else None
    usage = read_usage(get(end, "response", "meta"))
    return build_outcome(content, reason, stop, usage=usage, error=error, response_id=id_)


def read_usage(usage: Any) -> dict[str, int | None]:
    """Return the usage buckets from the billed units, which the SDK returns as floats."""
    counts = {
        bucket: get(usage, "billed_units", field)
        for bucket, field in (
            ("input", "input_tokens"),
            ("output", "output_tokens"),
            ("web_searches", "search_units"),
        )
    }
    return {bucket: None if count is None else int(count) for bucket, count in counts.items()}
