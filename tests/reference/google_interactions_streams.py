"""Small authored streams of Gemini's Interactions: every type of step, and each peculiarity."""

from __future__ import annotations

import json
from typing import Any

Payload = dict[str, Any]

HEAD: Payload = {"id": "v1_a", "object": "interaction", "model": "gemini-3-flash"}
USAGE: Payload = {
    "total_input_tokens": 20,
    "total_cached_tokens": 5,
    "total_output_tokens": 7,
    "total_thought_tokens": 3,
    "total_tool_use_tokens": 0,
    "total_tokens": 30,
}
DONE = b"event: done\ndata: [DONE]\n\n"
CREATED: Payload = {"event_type": "interaction.created", "interaction": HEAD | {"status": "in_progress"}}


def sse(*events: Payload) -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n"
        % (
            each["event_type"].encode(),
            json.dumps(each, ensure_ascii=False).encode("utf-8", "backslashreplace"),
        )
        for each in events
    )


def start(index: int, kind: str, **fields: Any) -> Payload:
    return {"event_type": "step.start", "index": index, "step": {"type": kind, **fields}}


def delta(index: int, kind: str, **fields: Any) -> Payload:
    return {"event_type": "step.delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int, **fields: Any) -> Payload:
    return {"event_type": "step.stop", "index": index, **fields}


def says(index: int, *pieces: str) -> list[Payload]:
    """Return a step of text."""
    deltas = (delta(index, "text", text=piece) for piece in pieces)
    return [start(index, "model_output"), *deltas, stop(index)]


def thinks(index: int, *pieces: str, signature: str = "c2ln") -> list[Payload]:
    """Return a thought with its summaries and its signature."""
    summaries = (delta(index, "thought_summary", content={"type": "text", "text": piece}) for piece in pieces)
    signed = delta(index, "thought_signature", signature=signature)
    return [start(index, "thought"), *summaries, signed, stop(index)]


def calls(index: int, name: str, *fragments: str, **fields: Any) -> list[Payload]:
    """Return a step with a function call."""
    begin = start(index, "function_call", **({"id": f"fc_{index}", "name": name, "arguments": {}} | fields))
    return [begin, *(delta(index, "arguments_delta", arguments=each) for each in fragments), stop(index)]


def completed(status: str = "completed", **fields: Any) -> Payload:
    whole = HEAD | {"status": status, "usage": USAGE} | fields
    return {"event_type": "interaction.completed", "interaction": whole}


def answer(*steps: Payload, status: str = "completed", **fields: Any) -> bytes:
    """Return a complete answer with these steps."""
    return sse(CREATED, *steps, completed(status, **fields)) + DONE


SEARCH = (
    start(1, "google_search_call", id="gs_1", signature=""),
    delta(1, "google_search_call", arguments={"queries": ["tides"]}),
    stop(1),
    start(2, "google_search_result", call_id="gs_1", signature=""),
    delta(2, "google_search_result", result=[{"search_suggestions": "x"}]),
    stop(2),
)
STREAMS: dict[str, bytes] = {
    "text": answer(*says(0, "Hel", "lo ", "\U0001f600")),
    "thought": answer(*thinks(0, "First.\n", "Second."), *says(1, "Yes.")),
    "call": answer(*thinks(0), *calls(1, "now", '{"city":', '"Metz"}'), status="requires_action"),
    "calls": answer(*calls(0, "now", "{}"), *calls(1, "now", '{"a":1}'), status="requires_action"),
    "call in a completed answer": answer(*calls(0, "now", "{}")),
    "search": answer(*says(0, "High at six."), *SEARCH),
    "failed": answer(
        *says(0, "Half"), status="failed", errors=[{"code": "no_image", "message": "No image was made."}]
    ),
    "error": sse(
        CREATED,
        *says(0, "Half"),
        {"event_type": "error", "error": {"code": "rate_limit_exceeded", "message": "Slow down."}},
    ),
    "interleaved": answer(
        *(calls(index, "now")[0] for index in (0, 1)),
        delta(0, "arguments_delta", arguments='{"a":1}'),
        delta(1, "arguments_delta", arguments='{"b":2}'),
        stop(0),
        stop(1),
        status="requires_action",
    ),
    "late signature": answer(
        start(0, "thought"),
        delta(0, "thought_signature", signature=""),
        delta(0, "thought_signature", signature="c2ln"),
        stop(0),
        *says(1, "Yes."),
    ),
    "refusal": sse(CREATED) + b'{"error":{"code":"safety","message":"Blocked."}}\n',
    "incomplete": answer(start(0, "model_output"), delta(0, "text", text="Cut"), status="incomplete"),
}
