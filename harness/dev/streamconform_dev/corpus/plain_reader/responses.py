"""OpenAI Responses: https://platform.openai.com/docs/api-reference/responses-streaming.

`response.output_item.done` contains the final form of each item, so no other content is read.
"""

from __future__ import annotations

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

INCOMPLETE: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}
HOSTED: Final = ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call")
IGNORED: Final = ("compaction", "mcp_list_tools")


def read(body: bytes) -> Reading:
    """Return what an SSE body says."""
    items: dict[int, Json] = {}
    final: Json | None = None
    error: Json | None = None
    for event in iter_payloads(body):
        match event.get("type"):
            case "response.output_item.done":
                items[event.get("output_index", len(items))] = event["item"]
            case "response.completed" | "response.incomplete" | "response.failed":
                final = event["response"]
            case "error":
                error = as_dict(event.get("error")) or event
            case _:
                pass
    if error is not None or (final is not None and final["status"] == "failed"):
        failure = error or as_dict(as_dict(final).get("error"))
        return Reading(status="error", reason="error", error_type=failure.get("type"))
    blocks = tuple(block for _, item in sorted(items.items()) for block in _read_item(item))
    if final is None:
        return Reading(status="incomplete", reason=None, blocks=blocks)
    return Reading(
        status="complete",
        reason=_find_reason(final, blocks),
        raw=None,
        blocks=blocks,
        usage=_count(as_dict(final.get("usage"))),
        service_tier=final.get("service_tier"),
        model=final.get("model"),
    )


def _find_reason(final: Json, blocks: tuple[Block, ...]) -> str | Choice | None:
    if final["status"] == "incomplete":
        return INCOMPLETE.get(final["incomplete_details"]["reason"], "other")
    if any(item.get("type") == "mcp_approval_request" for item in final.get("output") or []):
        return Choice(("pause", "stop"), "the status on the wire is completed")
    reason = settle_reason("stop", blocks)
    if reason == "stop" and any(block.kind == "refusal" for block in blocks):
        return Choice(("refusal", "stop"), "the status is completed; only some clients check the part")
    return reason


def _read_item(item: Json) -> Iterator[Block]:
    match item["type"]:
        case "message":
            for part in item["content"]:
                if part["type"] == "output_text":
                    yield Block("text", part["text"])
                elif part["type"] == "refusal":
                    yield Block("refusal", part["refusal"])
        case "reasoning":
            parts = item.get("summary") or item.get("content") or []
            text = "\n\n".join(part["text"] for part in parts)
            signature = item.get("encrypted_content") or None
            if text or signature:
                yield Block("thinking", text, signature)
        case "function_call":
            ended = item.get("status") != "incomplete"
            yield make_call(item["name"], item["call_id"], item["arguments"], ended=ended)
        case "custom_tool_call":
            yield Block("tool_call", item["input"], name=item["name"], id=item["call_id"], free=True)
        case "mcp_call":
            yield make_call(item["name"], None, item["arguments"], executor="provider")
        case kind if kind in HOSTED:
            yield Block("tool_call", name=kind.removesuffix("_call"), executor="provider", free=True)
        case "mcp_approval_request":
            return
        case kind if kind in IGNORED:
            return
        case kind:
            raise NotRead(f"no rule says what an item of type {kind} is for a client")


def _count(usage: Json) -> dict[str, Any] | None:
    """Return the buckets: cached tokens are part of the input, reasoning is part of the output."""
    if not usage:
        return None
    details = as_dict(usage.get("input_tokens_details"))
    cached, written = details.get("cached_tokens"), details.get("cache_write_tokens")
    return drop_nulls(
        {
            "input": usage["input_tokens"] - (cached or 0) - (written or 0),
            "cache_read": cached,
            "cache_write": written,
            "output": usage["output_tokens"],
            "reasoning": as_dict(usage.get("output_tokens_details")).get("reasoning_tokens"),
        }
    )
