"""Events of boto3's `converse_stream()` to blocks, and its usage to buckets."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from streamconform.peers.normal_form import Block, at, call, other


def content(events: Iterable[Mapping[str, Any]]) -> list[Block]:
    """Return the blocks that the events add up to, by their index."""
    blocks: dict[int, Block] = {}
    for event in events:
        for kind, given in event.items():
            index = at(given, "contentBlockIndex")
            start, delta = at(given, "start") or {}, at(given, "delta") or {}
            if kind == "contentBlockStart" and "toolUse" in start:
                use = start["toolUse"]
                by = "provider" if use.get("type") == "server_tool_use" else "client"
                blocks[index] = call(use["toolUseId"], use["name"], "", complete=False, executor=by)
            elif kind == "contentBlockStart":
                blocks[index] = other(next(iter(start), "start"))
            elif kind == "contentBlockDelta":
                _add(blocks, index, delta)
            elif kind == "contentBlockStop" and blocks.get(index, {}).get("type") == "tool_call":
                was = blocks[index]
                done = call(was["id"], was["name"], was["arguments_text"], executor=was["executor"])
                blocks[index] = done
    return list(blocks.values())


def _add(blocks: dict[int, Block], index: int, delta: Mapping[str, Any]) -> None:
    if "text" in delta:
        block = blocks.setdefault(index, {"type": "text", "text": ""})
        if block["type"] == "text":
            block["text"] += delta["text"]
    elif "toolUse" in delta and "arguments_text" in blocks.get(index, {}):
        blocks[index]["arguments_text"] += delta["toolUse"].get("input", "")
    elif "reasoningContent" in delta:
        given = delta["reasoningContent"]
        block = blocks.setdefault(index, {"type": "thinking", "text": "", "signature": None})
        if block["type"] != "thinking":
            return
        block["text"] += given.get("text", "")
        block["signature"] = given.get("signature") or block["signature"]
        if "redactedContent" in given:
            block |= {"signature": b64encode(given["redactedContent"]).decode(), "redacted": True}


def counts(usage: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the buckets of usage, which are disjoint there too."""
    hour = [each["inputTokens"] for each in usage.get("cacheDetails", []) if each.get("ttl") == "1h"]
    return {
        "input": usage.get("inputTokens"),
        "cache_read": usage.get("cacheReadInputTokens"),
        "cache_write": usage.get("cacheWriteInputTokens"),
        "cache_write_1h": sum(hour) if usage.get("cacheDetails") else None,
        "output": usage.get("outputTokens"),
    }
