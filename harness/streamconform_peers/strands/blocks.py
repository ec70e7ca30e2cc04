"""Convert Strands' blocks and usage, which are in the Bedrock Converse format, to the normal form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform.normal.blocks import Block, get, parse_arguments, subtract
from streamconform_peers import bedrock_events

INPUT_WITHOUT_CACHE: Final = ("anthropic-messages", "bedrock-converse")


def number_blocks(stream: list[Any]) -> list[Any]:
    """Return the provider's events, and add the block indexes that Strands leaves out."""
    numbered: list[Any] = []
    index = 0
    for chunk in [event["event"] for event in stream if "event" in event]:
        kind = next(iter(chunk))
        if kind == "contentBlockStart" and not chunk[kind].get("start"):
            continue  # Bedrock sends no such event for texts
        delta = chunk[kind].get("delta")
        if not isinstance(get(delta, "text") or get(delta, "toolUse", "input") or "", str):
            continue  # Strands raised a TypeError for it
        numbered.append({kind: {**chunk[kind], "contentBlockIndex": index}})
        index += kind == "contentBlockStop"
    return numbered


def has_whole_arguments(call: Block, stream: list[Any]) -> bool:
    """Return whether a call's arguments are valid JSON; in the message, malformed arguments are empty."""
    streamed = bedrock_events.aggregate_content(number_blocks(stream))
    texts = [block["arguments_text"] for block in streamed if block.get("id") == call["id"]]
    return any(text.strip() and parse_arguments(text) is not None for text in texts)


def convert_block(block: Mapping[str, Any]) -> Block:
    """Return a block of the message; a call's arguments are already parsed, even if they are a string."""
    converted = bedrock_events.convert_block(block)
    arguments = get(block, "toolUse", "input")
    if isinstance(arguments, str):
        del converted["arguments_text"]
        converted["arguments"] = arguments
    return converted


def move_signatures(content: list[Block]) -> list[Block]:
    """Move each signature, which Strands puts in an empty reasoning block, to the text before that block.

    A signature without text before it belongs to a tool that the provider ran; it is dropped.
    """
    moved: list[Block] = []
    for block in content:
        if block["type"] != "thinking" or block["text"]:
            moved.append(block)
        elif moved and moved[-1]["type"] == "text":
            moved[-1] = moved[-1] | {"signature": block["signature"]}
    return moved


def read_usage(usage: Mapping[str, int], api: str) -> dict[str, int | None]:
    """Return the usage buckets; Strands leaves out cache counts of 0."""
    caches = {"cache_read": "cacheReadInputTokens", "cache_write": "cacheWriteInputTokens"}
    cached = {bucket: usage[field] for bucket, field in caches.items() if field in usage}
    parts = () if api in INPUT_WITHOUT_CACHE else cached.values()
    return {
        "input": subtract(usage["inputTokens"], *parts),
        "output": usage["outputTokens"],
        **cached,
    }
