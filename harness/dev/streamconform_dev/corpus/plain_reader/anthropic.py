"""Anthropic Messages: https://docs.claude.com/en/docs/build-with-claude/streaming."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from streamconform_dev.corpus.plain_reader.reading import (
    Block,
    Choice,
    Json,
    Reading,
    as_dict,
    drop_nulls,
    iter_payloads,
    make_call,
    settle_reason,
)

REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "refusal": "refusal",
}
CALLS: Final = {"tool_use": "client", "server_tool_use": "provider", "mcp_tool_use": "provider"}


def read(body: bytes) -> Reading:
    """Return the facts in an SSE body."""
    return read_events(iter_payloads(body))


def read_events(events: Iterable[Json]) -> Reading:
    """Return the facts in the events, in any framing."""
    message: Json = {}
    usage: Json = {}
    blocks: dict[int, Json] = {}
    deltas: dict[int, list[Json]] = {}
    stopped: set[int] = set()
    final: Json = {}
    ended = False
    for event in events:
        match event.get("type"):
            case "message_start":
                message = event["message"]
                usage = _merge(usage, message.get("usage"))
            case "content_block_start":
                blocks[event["index"]] = event["content_block"]
                deltas[event["index"]] = []
            case "content_block_delta":
                deltas[event["index"]].append(event["delta"])
            case "content_block_stop":
                stopped.add(event["index"])
            case "message_delta":
                final |= {name: value for name, value in event["delta"].items() if value is not None}
                usage = _merge(usage, event.get("usage"))
            case "message_stop":
                ended = True
                usage = _merge(_read_metrics(event), usage)
            case "error":
                kind = event["error"]["type"]
                return Reading(status="error", reason="error", error_type=kind)
            case _:
                pass
    raw = final.get("stop_reason")
    every = (_read_block(start, deltas[n], ended=n in stopped) for n, start in sorted(blocks.items()))
    read_blocks = tuple(block for block in every if block is not None)
    if not ended:
        return Reading(status="incomplete", reason=None, blocks=read_blocks, usage=_count(usage))
    return Reading(
        status="complete",
        reason=settle_reason(REASONS.get(str(raw), "other"), read_blocks),
        raw=raw,
        blocks=read_blocks,
        usage=_count(usage),
        service_tier=usage.get("service_tier"),
        model=message.get("model"),
        counts={"web_searches": as_dict(usage.get("server_tool_use")).get("web_search_requests") or 0},
    )


def _merge(usage: Json, report: Any) -> Json:
    """Return the last report of each field, since reports are totals; null reports nothing."""
    return usage | {name: value for name, value in as_dict(report).items() if value is not None}


def _read_metrics(event: Json) -> Json:
    """Return the counts in Bedrock's metrics under Anthropic's names."""
    metrics = as_dict(event.get("amazon-bedrock-invocationMetrics"))
    names = {"input_tokens": "inputTokenCount", "output_tokens": "outputTokenCount"}
    return {name: metrics[other] for name, other in names.items() if metrics.get(other) is not None}


def _count(usage: Json) -> dict[str, Any] | None:
    """Return the buckets; they are disjoint on the wire.

    With compaction, the documentation gives two totals: the answer's own, and the sum of the iterations.
    """
    split = as_dict(usage.get("cache_creation"))
    counts: dict[str, Any] = {
        "input": usage.get("input_tokens"),
        "cache_read": usage.get("cache_read_input_tokens"),
        "cache_write": usage.get("cache_creation_input_tokens"),
        "cache_write_1h": split.get("ephemeral_1h_input_tokens") or None,
        "output": usage.get("output_tokens"),
        "reasoning": as_dict(usage.get("output_tokens_details")).get("thinking_tokens"),
    }
    iterations = usage.get("iterations") or []
    for name, key in (("input", "input_tokens"), ("output", "output_tokens")):
        total = sum(each.get(key) or 0 for each in iterations)
        if iterations and total != counts[name]:
            counts[name] = Choice(
                (counts[name], total), "the answer's own count, or the sum of the iterations"
            )
    return drop_nulls(counts)


def _read_block(start: Json, deltas: list[Json], *, ended: bool) -> Block | None:
    """Return a block, or None for one that is neither text, thinking nor a call."""

    def join(key: str) -> str:
        return "".join(delta.get(key) or "" for delta in deltas)

    match start["type"]:
        case "text":
            return Block("text", start.get("text", "") + join("text"))
        case "thinking":
            signature = (start.get("signature") or "") + join("signature")
            return Block("thinking", start.get("thinking", "") + join("thinking"), signature or None)
        case "redacted_thinking":
            return Block("thinking", "", start["data"], redacted=True)
        case kind if kind in CALLS:
            return make_call(
                start["name"],
                start["id"],
                join("partial_json"),
                start=start.get("input"),
                executor=CALLS[kind],
                ended=ended,
            )
        case _:
            return None
