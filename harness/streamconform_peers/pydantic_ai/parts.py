"""Convert Pydantic AI's parts and usage to the normal form."""

from __future__ import annotations

from typing import Any

from pydantic_ai import messages

from streamconform_peers.normal_form import Block, build_call, build_other, get, subtract


def convert_part(part: Any, *, complete: bool) -> Block:
    """Return a part as a block; any part may have Gemini's signature in its details."""
    signature = get(part, "provider_details", "thought_signature") or None
    match part:
        case messages.TextPart():
            phase = get(part, "provider_details", "phase")
            return {"type": "text", "text": part.content or "", "signature": signature, "phase": phase}
        case messages.ThinkingPart():
            redacted = part.id == "redacted_thinking"
            # Unlike summaries, raw reasoning is only in this field.
            raw_content = get(part, "provider_details", "raw_content") or []
            return {
                "type": "thinking",
                "text": part.content or "".join(raw_content),
                "signature": part.signature or signature,
                "redacted": redacted,
            }
        case messages.BaseToolCallPart():
            executor = "provider" if isinstance(part, messages.NativeToolCallPart) else "client"
            call = build_call(
                part.tool_call_id, part.tool_name, part.args, complete=complete, executor=executor
            )
            return call | {"signature": signature}
        case _:
            return build_other(part.part_kind)


def read_usage(usage: Any, *, whole: bool) -> dict[str, int | None] | None:
    """Return the usage buckets, or None if no usage was reported.

    Pydantic AI marks unknown usage at the end of an answer; before the end, unknown usage is 0. Unknown
    partial counts are always 0, so partial counts that are 0 are left out.
    """
    if usage is None or usage.unmeasured_requests or not (whole or usage.total_tokens):
        return None
    parts = {
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
        "cache_write_1h": usage.cache_write_1h_tokens,
        "reasoning": usage.output_reasoning_tokens,
    }
    return {
        "input": subtract(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens),
        "output": usage.output_tokens,
        **{bucket: count for bucket, count in parts.items() if count},
    }
