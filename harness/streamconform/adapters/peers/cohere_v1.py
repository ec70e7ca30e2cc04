"""Events of Cohere's `Client.chat_stream()`, v1: text as it comes, calls and usage of the last event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from streamconform.adapters.peers.normal import Block, Error, at, call, outcome, say

STOPS: Final = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "ERROR_LIMIT": "length",
    "TOOL_CALL": "tool_use",
    "ERROR_TOXIC": "content_filter",
}
FAILED: Final = frozenset({"ERROR", "TIMEOUT"})


def read(events: Iterable[Any], error: Error | None) -> dict[str, Any]:
    """Return the outcome of the events that came."""
    told = list(events)
    end = next((event for event in told if at(event, "event_type") == "stream-end"), None)
    content: list[Block] = []
    for event in told:
        if at(event, "event_type") in {"text-generation", "tool-calls-chunk"}:
            say(content, "text", at(event, "text"))
    calls = at(end, "response", "tool_calls") or [
        each for event in told if event.event_type == "tool-calls-generation" for each in event.tool_calls
    ]
    content += [call(None, each.name, each.parameters) for each in calls]
    stop = at(end, "finish_reason")
    if stop in FAILED:
        error = {"type": stop, "message": at(end, "error"), "status": None}
    id_ = next((event.generation_id for event in told if event.event_type == "stream-start"), None)
    reason = STOPS.get(stop, "other") if end is not None else None
    return outcome(
        content, reason, stop, usage=counts(at(end, "response", "meta")), error=error, response_id=id_
    )


def counts(usage: Any) -> dict[str, int | None]:
    """Return the buckets of what is billed; the SDK gives floats."""
    found = {
        name: at(usage, "billed_units", of)
        for name, of in (
            ("input", "input_tokens"),
            ("output", "output_tokens"),
            ("web_searches", "search_units"),
        )
    }
    return {name: None if value is None else int(value) for name, value in found.items()}
