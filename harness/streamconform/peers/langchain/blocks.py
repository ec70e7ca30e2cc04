"""What LangChain's content blocks and usage are in the normal form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamconform.peers.normal_form import Block, at, call, less, other


def blocks(whole: Any, *, complete: bool) -> Iterator[Block]:
    """Return the blocks in the order of `content_blocks`; calls that do not stand there come last."""
    calls = [*whole.tool_calls, *whole.invalid_tool_calls]
    texts = {each["id"]: each["args"] for each in at(whole, "tool_call_chunks") or ()}
    for block in whole.content_blocks:
        match block["type"]:
            case "text":
                yield {"type": "text", "text": block.get("text", "")}
                if signature := at(block, "extras", "signature"):
                    yield {"type": "thinking", "text": "", "signature": signature}
            case "reasoning":
                extras = block.get("extras", {})
                signature = extras.get("signature") or extras.get("encrypted_content")
                summary = "".join(each.get("text", "") for each in block.get("summary", []))
                text = block.get("reasoning") or summary
                yield {"type": "thinking", "text": text, "signature": signature}
            case "server_tool_call":
                yield call(block["id"], block["name"], block["args"], complete=complete, executor="provider")
            case "tool_call" | "tool_call_chunk" | "invalid_tool_call":
                for each in [each for each in calls if each["id"] == block.get("id")][:1]:
                    calls.remove(each)
                    made = call(each["id"], each["name"], each["args"], complete=complete)
                    yield made | {"arguments_text": texts.get(each["id"])}
            case "non_standard" if at(block, "value", "type") == "redacted_thinking":
                data = at(block, "value", "data")
                yield {"type": "thinking", "text": "", "signature": data, "redacted": True}
            case kind:
                yield other(kind)
    for each in calls:
        yield call(each["id"], each["name"], each["args"], complete=complete)


def counts(usage: Any) -> dict[str, int | None]:
    """Return the buckets of usage."""
    read = at(usage, "input_token_details", "cache_read")
    written = at(usage, "input_token_details", "cache_creation")
    return {
        "input": less(at(usage, "input_tokens"), read, written),
        "cache_read": read,
        "cache_write": written,
        "output": at(usage, "output_tokens"),
        "reasoning": at(usage, "output_token_details", "reasoning"),
    }
