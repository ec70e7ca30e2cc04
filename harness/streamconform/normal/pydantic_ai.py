"""Convert Pydantic AI's responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform.normal.blocks import Block, Error, build_call, build_other, build_outcome, get, subtract
from streamconform.normal.stop_reasons import translate_stop

STOP_REASONS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool_use",
    "content_filter": "content_filter",
    "error": "error",
}
UNFINISHED: Final = ("incomplete", "interrupted")
"""The states of a response whose stream broke off."""


def convert_pydantic_ai_response(
    response: Any, *, ended: bool | None = None, error: Error | None = None
) -> dict[str, Any]:
    """Return the outcome of a `ModelResponse`, or of None if the library returned nothing.

    A stream that broke off before it had `ended` is incomplete, even if its response has a stop reason. By
    default, the response's state says whether it ended.
    """
    ended = get(response, "state") not in UNFINISHED if ended is None else ended
    # Some stop reasons are exposed only as the provider sent them, in `provider_details`.
    reason = get(response, "finish_reason") if ended else None
    details = get(response, "provider_details")
    raw = (get(details, "finish_reason") or get(details, "block_reason")) if ended else None
    # Pydantic AI ends refusals with `content_filter`, and exposes their text, or the provider's reason,
    # separately.
    refused = reason == "content_filter" and (raw == "refusal" or bool(get(details, "refusal")))
    outcome = build_outcome(
        [_convert_part(part, complete=bool(reason or raw)) for part in get(response, "parts") or []],
        "refusal" if refused else STOP_REASONS.get(reason, "other") if reason else translate_stop(raw),
        raw,
        usage=_read_usage(get(response, "usage"), ended=ended),
        error=error,
        model=get(response, "model_name"),
        response_id=get(response, "provider_response_id"),
    )
    if refused and raw is None:
        del outcome["stop"]["raw"]
    return outcome


def _convert_part(part: Any, *, complete: bool) -> Block:
    """Return a part as a block; any part may have Gemini's signature in its details."""
    signature = get(part, "provider_details", "thought_signature") or None
    match part.part_kind:
        case "text":
            phase = get(part, "provider_details", "phase")
            return {"type": "text", "text": part.content or "", "signature": signature, "phase": phase}
        case "thinking":
            redacted = part.id == "redacted_thinking"
            # Unlike summaries, raw reasoning is only in this field.
            raw_content = get(part, "provider_details", "raw_content") or []
            return {
                "type": "thinking",
                "text": part.content or "".join(raw_content),
                "signature": part.signature or signature,
                "redacted": redacted,
            }
        case "tool-call" | "builtin-tool-call" as kind:
            executor = "client" if kind == "tool-call" else "provider"
            call = build_call(
                part.tool_call_id, part.tool_name, part.args, complete=complete, executor=executor
            )
            return call | {"signature": signature}
        case kind:
            return build_other(kind)


def _read_usage(usage: Any, *, ended: bool) -> dict[str, int | None] | None:
    """Return the usage buckets, or None if no usage was reported.

    Pydantic AI marks unknown usage at the end of an answer; before the end, unknown usage is 0. Unknown
    partial counts are always 0, so partial counts that are 0 are left out.
    """
    if usage is None or usage.unmeasured_requests or not (ended or usage.total_tokens):
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
