"""`peer:pydantic-ai`: Pydantic AI, `direct.model_request_stream_sync()` and the response that it builds.

`ModelAPIError` and what derives from it is the provider's error, `ModelConnectionError` a lost connection.
The prompt and the tools of the request are sent in the library's own form. Usage that it does not know it
tells by `unmeasured_requests`; what it gives as 0 is 0 here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic_ai import ModelRequest, messages
from pydantic_ai.direct import model_request_stream_sync
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from streamconform.adapters.peers import anthropic_errors, asked, google_parts
from streamconform.adapters.peers.normal import Block, Error, at, call, less, other, outcome
from streamconform.adapters.peers.pydantic_ai_models import MODELS, told

STOPS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool_use",
    "content_filter": "content_filter",
    "error": "error",
}
RAW: Final[Mapping[str, str]] = {**anthropic_errors.STOPS, **google_parts.STOPS}
"""The provider's words that it has none of its own for: it tells them in `provider_details` alone."""


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run."""
    model, provider = MODELS[run.api]
    tools = [
        ToolDefinition(name=name, description=description, parameters_json_schema=dict(schema))
        for name, description, schema in asked.tools(run.request)
    ]
    error: Error | None = None
    response: Any = None
    whole = False
    try:
        with model_request_stream_sync(
            model(run.model, provider=provider(run)),
            [ModelRequest.user_text_prompt(asked.prompt(run.request))],
            model_request_parameters=ModelRequestParameters(function_tools=tools),
        ) as stream:
            try:
                for _ in stream:
                    pass
                whole = True
            finally:
                response = stream.response
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    reason = at(response, "finish_reason") if whole else None
    details = at(response, "provider_details")
    raw = (at(details, "finish_reason") or at(details, "block_reason")) if whole else None
    return outcome(
        [
            each
            for part in at(response, "parts") or []
            for each in _signed(part, _block(part, complete=bool(reason or raw)))
        ],
        STOPS.get(reason, "other") if reason else RAW.get(raw, "other") if raw else None,
        raw,
        usage=_counts(at(response, "usage"), whole=whole),
        error=error,
        model=at(response, "model_name"),
        response_id=at(response, "provider_response_id"),
    )


def _signed(part: Any, block: Block) -> list[Block]:
    """Return a block, and Gemini's signature where the part has one: before a call, behind a text."""
    signature = at(part, "provider_details", "thought_signature")
    if not signature:
        return [block]
    if block["type"] == "thinking":
        return [block | {"signature": block["signature"] or signature}]
    signed: Block = {"type": "thinking", "text": "", "signature": signature}
    return [signed, block] if block["type"] == "tool_call" else [block, signed]


def _block(part: Any, *, complete: bool) -> Block:
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


def _counts(usage: Any, *, whole: bool) -> dict[str, int | None] | None:
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
