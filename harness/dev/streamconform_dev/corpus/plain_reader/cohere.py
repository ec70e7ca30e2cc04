"""Cohere: https://docs.cohere.com/reference/chat-stream (v2) and https://docs.cohere.com/v1/reference/chat-stream."""

from __future__ import annotations

import json
from typing import Any, Final

from streamconform_dev.corpus.plain_reader.reading import (
    Block,
    Json,
    Reading,
    as_dict,
    drop_nulls,
    iter_payloads,
    make_call,
    settle_reason,
)

REASONS: Final = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_use",
    "ERROR_TOXIC": "content_filter",
}


def read(body: bytes) -> Reading:
    """Return the facts in a body of v1 (lines) or v2 (SSE)."""
    if body.lstrip()[:1] == b"{":
        return _read_v1([json.loads(line) for line in body.splitlines() if line.strip()])
    return _read_v2(list(iter_payloads(body)))


def _read_v1(events: list[Json]) -> Reading:
    text = "".join(each["text"] for each in events if each["event_type"] == "text-generation")
    end = next((each for each in events if each["event_type"] == "stream-end"), None)
    calls = [
        call
        for each in events
        if each["event_type"] == "tool-calls-generation"
        for call in each["tool_calls"]
    ]
    blocks = [Block("text", text)] if text else []
    blocks += [Block("tool_call", name=each["name"], arguments=each["parameters"]) for each in calls]
    if end is None:
        return Reading(status="incomplete", reason=None, blocks=tuple(blocks))
    raw = end["finish_reason"]
    return Reading(
        status="complete",
        reason=settle_reason(REASONS.get(raw, "other"), blocks),
        raw=raw,
        blocks=tuple(blocks),
        usage=_count(as_dict(end["response"].get("meta"))),
    )


def _read_v2(events: list[Json]) -> Reading:
    text: list[str] = []
    thinking: list[str] = []
    calls: dict[int, Json] = {}
    end: Json | None = None
    for event in events:
        message = as_dict(as_dict(event.get("delta")).get("message"))
        match event["type"]:
            case "content-start" | "content-delta":
                text.append(message["content"].get("text") or "")
                thinking.append(message["content"].get("thinking") or "")
            case "tool-plan-delta":
                thinking.append(message["tool_plan"])
            case "tool-call-start":
                call = message["tool_calls"]
                calls[event["index"]] = {"id": call["id"], **call["function"]}
            case "tool-call-delta":
                calls[event["index"]]["arguments"] += message["tool_calls"]["function"]["arguments"]
            case "message-end":
                end = event["delta"]
            case _:
                pass
    blocks = [Block(kind, "".join(of)) for kind, of in (("thinking", thinking), ("text", text)) if any(of)]
    blocks += [make_call(each["name"], each["id"], each["arguments"]) for _, each in sorted(calls.items())]
    if end is None:
        return Reading(status="incomplete", reason=None, blocks=tuple(blocks))
    raw = end["finish_reason"]
    return Reading(
        status="complete",
        reason=settle_reason(REASONS.get(raw, "other"), blocks),
        raw=raw,
        blocks=tuple(blocks),
        usage=_count(as_dict(end.get("usage"))),
    )


def _count(usage: Json) -> dict[str, Any] | None:
    """Return the units that Cohere bills."""
    billed = as_dict(usage.get("billed_units"))
    return drop_nulls({"input": billed.get("input_tokens"), "output": billed.get("output_tokens")})
