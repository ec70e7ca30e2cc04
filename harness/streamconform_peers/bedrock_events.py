"""Aggregate the events of boto3's `converse_stream()` into blocks, and read its usage."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from streamconform.normal.blocks import Block, build_call, build_other, get


def aggregate_content(events: Iterable[Mapping[str, Any]]) -> list[Block]:
    """Return the blocks that the events add up to, grouped by block index."""
    blocks: dict[int, Block] = {}
    for event in events:
        for kind, payload in event.items():
            index = get(payload, "contentBlockIndex")
            start, delta = get(payload, "start") or {}, get(payload, "delta") or {}
            if kind == "contentBlockStart" and "toolUse" in start:
                tool_use = start["toolUse"]
                executor = "provider" if tool_use.get("type") == "server_tool_use" else "client"
                blocks[index] = build_call(
                    tool_use["toolUseId"], tool_use["name"], "", complete=False, executor=executor
                )
            elif kind == "contentBlockStart" and start:
                blocks[index] = build_other(next(iter(start)))
            elif kind == "contentBlockDelta":
                _add_delta(blocks, index, delta)
            elif kind == "contentBlockStop" and blocks.get(index, {}).get("type") == "tool_call":
                call = blocks[index]
                blocks[index] = build_call(
                    call["id"], call["name"], call["arguments_text"], executor=call["executor"]
                )
    return list(blocks.values())


def _add_delta(blocks: dict[int, Block], index: int, delta: Mapping[str, Any]) -> None:
    # Text and thinking blocks have no start event: their first delta opens them.
    if "text" in delta:
        block = blocks.setdefault(index, {"type": "text", "text": ""})
        if block["type"] == "text":
            block["text"] += delta["text"]
    elif "toolUse" in delta and "arguments_text" in blocks.get(index, {}):
        blocks[index]["arguments_text"] += delta["toolUse"].get("input", "")
    elif "reasoningContent" in delta:
        reasoning = delta["reasoningContent"]
        block = blocks.setdefault(index, {"type": "thinking", "text": "", "signature": None})
        if block["type"] != "thinking":
            return
        block["text"] += reasoning.get("text", "")
        block["signature"] = reasoning.get("signature") or block["signature"]
        if "redactedContent" in reasoning:
            block |= {"signature": b64encode(reasoning["redactedContent"]).decode(), "redacted": True}


def convert_block(block: Mapping[str, Any]) -> Block:
    """Return a block from `converse()`, whose document contains complete blocks."""
    kind: str = next(iter(block), "empty")
    value: Any = block.get(kind)
    if kind == "text":
        return {"type": "text", "text": value}
    if kind == "citationsContent":
        return {"type": "text", "text": "".join(part.get("text", "") for part in value.get("content", []))}
    if kind == "toolUse":
        executor = "provider" if value.get("type") == "server_tool_use" else "client"
        return build_call(value["toolUseId"], value["name"], value.get("input"), executor=executor)
    if kind == "reasoningContent":
        text, redacted = value.get("reasoningText", {}), value.get("redactedContent")
        if redacted is not None:
            signature = b64encode(redacted).decode()
            return {"type": "thinking", "text": "", "signature": signature, "redacted": True}
        return {"type": "thinking", "text": text.get("text", ""), "signature": text.get("signature")}
    return build_other(kind)


def read_usage(usage: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the usage buckets; Bedrock's counts are disjoint too."""
    details = usage.get("cacheDetails", [])
    one_hour = [detail["inputTokens"] for detail in details if detail.get("ttl") == "1h"]
    return {
        "input": usage.get("inputTokens"),
        "cache_read": usage.get("cacheReadInputTokens"),
        "cache_write": usage.get("cacheWriteInputTokens"),
        "cache_write_1h": sum(one_hour) if details else None,
        "output": usage.get("outputTokens"),
    }
