"""What Pydantic AI's parts and usage are in the normal form."""

from __future__ import annotations

from typing import Any

from pydantic_ai import messages

from streamconform.peers.normal_form import Block, at, call, less, other


def signed(part: Any, block: Block) -> list[Block]:
    """Return a block, and Gemini's signature where the part has one: before a call, behind a text."""
    signature = at(part, "provider_details", "thought_signature")
    if not signature:
        return [block]
    if block["type"] == "thinking":
        return [block | {"signature": block["signature"] or signature}]
    signed: Block = {"type": "thinking", "text": "", "signature": signature}
    return [signed, block] if block["type"] == "tool_call" else [block, signed]


def block(part: Any, *, complete: bool) -> Block:
    """Return the block that a part is."""
    match part:
        case messages.TextPart():
            return {"type": "text", "text": part.content or ""}
        case messages.ThinkingPart():
            redacted = part.id == "redacted_thinking"
            return {
                "type": "thinking",
                "text": part.content,
                "signature": part.signature,
                "redacted": redacted,
            }
        case messages.BaseToolCallPart():
            by = "provider" if isinstance(part, messages.NativeToolCallPart) else "client"
            return call(part.tool_call_id, part.tool_name, part.args, complete=complete, executor=by)
        case _:
            return other(part.part_kind)


def counts(usage: Any, *, whole: bool) -> dict[str, int | None] | None:
    """Return the buckets; those of an answer that broke off are all 0 where none had come."""
    if usage is None or usage.unmeasured_requests or not (whole or usage.has_values()):
        return None
    return {
        "input": less(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens),
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
        "cache_write_1h": usage.cache_write_1h_tokens,
        "output": usage.output_tokens,
        "reasoning": usage.output_reasoning_tokens,
    }
