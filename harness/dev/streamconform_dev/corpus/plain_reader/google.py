"""Google: https://ai.google.dev/api/generate-content and https://ai.google.dev/api/interactions-api."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from streamconform_dev.corpus.plain_reader.reading import (
    Block,
    Choice,
    Json,
    NotRead,
    Reading,
    as_dict,
    drop_nulls,
    iter_payloads,
    make_call,
    settle_reason,
)

REASONS: Final = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
        ),
        "content_filter",
    ),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"), "error"),
}
STATUSES: Final = {"completed": "stop", "requires_action": "tool_use", "incomplete": "length"}
TOOL_RESULTS: Final = "the tool results are counted separately; a client may or may not add them to the input"


def read_generate(body: bytes) -> Reading:
    """Return the facts about the first candidate in a stream of `streamGenerateContent`."""
    parts: list[Json] = []
    usage: Json = {}
    raw: str | None = None
    blocked: str | None = None
    model = None
    for chunk in _iter_responses(body):
        if chunk.get("error"):
            return Reading(status="error", reason="error", error_type=chunk["error"].get("status"))
        usage |= as_dict(chunk.get("usageMetadata"))
        model = chunk.get("modelVersion") or model
        blocked = as_dict(chunk.get("promptFeedback")).get("blockReason") or blocked
        for candidate in chunk.get("candidates") or []:
            if candidate.get("index", 0) == 0:
                raw = candidate.get("finishReason") or raw
                parts += as_dict(candidate.get("content")).get("parts") or []
    blocks = tuple(_join_parts(parts))
    if raw is None and blocked is None:
        return Reading(status="incomplete", reason=None, blocks=blocks, usage=_count_generate(usage))
    reason = "content_filter" if raw is None else REASONS.get(raw, "other")
    return Reading(
        status="complete",
        reason=settle_reason(reason, blocks),
        raw=raw or blocked,
        blocks=blocks,
        usage=_count_generate(usage),
        model=model,
    )


def _iter_responses(body: bytes) -> Iterator[Json]:
    """Yield the responses of SSE, or of a JSON array."""
    if body.lstrip()[:1] == b"[":
        yield from json.loads(body)
    else:
        yield from iter_payloads(body)


def _join_parts(parts: list[Json]) -> Iterator[Block]:
    """Yield the blocks; consecutive parts with text of the same kind are one block."""
    kind, text = "", ""
    for part in parts:
        part_kind = ("thinking" if part.get("thought") else "text") if "text" in part else ""
        if kind and part_kind != kind and (part_kind or "functionCall" in part):
            if text:
                yield Block(kind, text)
            kind, text = "", ""
        if part_kind:
            kind, text = part_kind, text + part["text"]
        call = part.get("functionCall")
        if call:
            yield Block(
                "tool_call",
                name=call["name"],
                id=call.get("id"),
                arguments=call.get("args") or {},
                signature=part.get("thoughtSignature"),
            )
    if text:
        yield Block(kind, text)


def _count_generate(usage: Json) -> dict[str, Any] | None:
    """Return the buckets: cached tokens are part of the prompt, thoughts are not part of the candidates."""
    prompt, cached = usage.get("promptTokenCount"), usage.get("cachedContentTokenCount")
    candidates, thoughts = usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount")
    results = usage.get("toolUsePromptTokenCount")
    if prompt is None and candidates is None and thoughts is None:
        return None
    output: Any = Choice((0, None), "no count of the output was reported")
    if candidates is not None or thoughts is not None:
        output = (candidates or 0) + (thoughts or 0)
    return drop_nulls(
        {
            "input": None if prompt is None else _count_input(prompt - (cached or 0), results),
            "cache_read": cached,
            "output": output,
            "reasoning": thoughts,
        }
    )


def _count_input(prompt: int, results: int | None) -> Any:
    return Choice((prompt + results, prompt), TOOL_RESULTS) if results else prompt


def read_interactions(body: bytes) -> Reading:
    """Return the facts in the stream of an interaction."""
    steps: dict[int, Json] = {}
    deltas: dict[int, list[Json]] = {}
    final: Json | None = None
    for event in iter_payloads(body):
        match event.get("event_type"):
            case "step.start":
                steps[event["index"]] = event["step"]
                deltas[event["index"]] = []
            case "step.delta":
                deltas[event["index"]].append(event["delta"])
            case "content.start":
                raise NotRead(
                    "events of an earlier version of the API, which its reference no longer describes"
                )
            case "interaction.completed":
                final = event["interaction"]
            case "error":
                return Reading(status="error", reason="error", error_type=event["error"].get("code"))
            case _:
                pass
    blocks = tuple(block for n, step in sorted(steps.items()) for block in _read_step(step, deltas[n]))
    if final is None:
        return Reading(status="incomplete", reason=None, blocks=blocks)
    usage = as_dict(final.get("usage"))
    thoughts = usage.get("total_thought_tokens")
    cached = usage.get("total_cached_tokens")
    counts: dict[str, Any] = {}
    if usage:
        prompt = usage["total_input_tokens"] - (cached or 0)
        counts = {
            "input": _count_input(prompt, usage.get("total_tool_use_tokens")),
            "cache_read": cached,
            "output": usage["total_output_tokens"] + (thoughts or 0),
            "reasoning": thoughts,
        }
    return Reading(
        status="complete",
        reason=settle_reason(STATUSES.get(final["status"], "other"), blocks),
        raw=final["status"],
        blocks=blocks,
        usage=drop_nulls(counts),
        model=final.get("model"),
    )


def _read_step(step: Json, deltas: list[Json]) -> Iterator[Block]:
    match step["type"]:
        case "model_output":
            yield Block("text", "".join(each["text"] for each in deltas if each["type"] == "text"))
        case "thought":
            summary = [each["content"]["text"] for each in deltas if each["type"] == "thought_summary"]
            signatures = [each["signature"] for each in deltas if each.get("signature")]
            yield Block("thinking", "".join(summary), signatures[-1] if signatures else None)
        case "function_call":
            text = "".join(each["arguments"] for each in deltas if each["type"] == "arguments_delta")
            yield make_call(step["name"], step["id"], text, start=step.get("arguments"))
        case _:
            return
