"""Events of Cohere's `Client.chat_stream()`, v1: text as it comes, calls and usage of the last event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from streamconform.peers.normal_form import Block, Error, at, call, outcome, say, text

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
    pieces: dict[Any, dict[str, str]] = {}  # by index, of calls that have not come whole
    calls = at(end, "response", "tool_calls")
    for event in told:
        match at(event, "event_type"):
            case "text-generation":
                say(content, "text", at(event, "text"))
            case "tool-calls-chunk":
                say(content, "text", at(event, "text"))
                piece = pieces.setdefault(
                    at(event, "tool_call_delta", "index"), {"name": "", "parameters": ""}
                )
                for name in piece:
                    piece[name] += text(event, "tool_call_delta", name)
            case "tool-calls-generation":
                calls = calls or event.tool_calls
            case _:
                pass
    if calls:
        content += [call(None, each.name, each.parameters) for each in calls]
    else:
        whole = end is not None
        content += [
            call(None, each["name"], each["parameters"], complete=whole)
            for each in pieces.values()
            if each["name"]
        ]
    stop = at(end, "finish_reason")
    if stop in FAILED:
        error = {"type": stop, "message": at(end, "error"), "status": None}
    id_ = next(
        (at(event, "generation_id") for event in told if at(event, "event_type") == "stream-start"), None
    )
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
