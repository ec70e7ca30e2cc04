"""`peer:langchain`: LangChain's chat models, `stream()`, the chunks added up, `content_blocks` of the sum.

The prompt and the tools of the request are sent in the library's own form. Calls are the sum's `tool_calls`
and `invalid_tool_calls`. What a provider's SDK raises comes through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform.adapters.peers import anthropic_errors, asked, cohere_v1, google_parts, openai_chat
from streamconform.adapters.peers.langchain_models import MODELS
from streamconform.adapters.peers.lost import LOST, told
from streamconform.adapters.peers.normal import Block, Error, at, call, less, other, outcome

STOPS: Final[Mapping[str, str]] = {
    **openai_chat.STOPS,
    **anthropic_errors.STOPS,
    **google_parts.STOPS,
    **cohere_v1.STOPS,
    "completed": "stop",
    "max_output_tokens": "length",
}
"""Its integrations hand the provider's own word on."""
REASONS: Final = ("finish_reason", "stop_reason", "done_reason")
"""Where its integrations put the provider's stop reason, in `response_metadata`."""


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of a run."""
    error: Error | None = None
    whole: Any = None
    try:
        model = MODELS[run.api](run)
        declared = _tools(run)
        for chunk in (model.bind_tools(declared) if declared else model).stream(asked.prompt(run.request)):
            whole = chunk if whole is None else whole + chunk
    except LOST:
        pass
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    told_of = at(whole, "response_metadata") or {}
    raw = next((str(told_of[name]) for name in REASONS if told_of.get(name)), None)
    raw = raw or at(told_of, "incomplete_details", "reason") or at(told_of, "status")
    return outcome(
        list(_blocks(whole, complete=bool(raw))) if whole is not None else [],
        STOPS.get(raw, "other") if raw else None,
        raw,
        usage=_counts(at(whole, "usage_metadata")),
        error=error,
        model=told_of.get("model_name") or told_of.get("model"),
        response_id=told_of.get("id") or at(whole, "id"),
    )


def _tools(run: Any) -> list[dict[str, Any]]:
    """Return the tools for `bind_tools`, which takes Anthropic's own form as it is."""
    if run.api == "anthropic-messages":
        return list((run.request or {}).get("tools") or [])
    return [
        {"type": "function", "function": {"name": name, "description": words, "parameters": schema}}
        for name, words, schema in asked.tools(run.request)
    ]


def _blocks(whole: Any, *, complete: bool) -> Iterator[Block]:
    for block in whole.content_blocks:
        match block["type"]:
            case "text":
                yield {"type": "text", "text": block.get("text", "")}
            case "reasoning":
                signature = block.get("extras", {}).get("signature")
                yield {"type": "thinking", "text": block.get("reasoning", ""), "signature": signature}
            case "server_tool_call":
                yield call(block["id"], block["name"], block["args"], complete=complete, executor="provider")
            case "tool_call" | "tool_call_chunk" | "invalid_tool_call":
                pass
            case kind:
                yield other(kind)
    for each in [*whole.tool_calls, *whole.invalid_tool_calls]:
        yield call(each["id"], each["name"], each["args"], complete=complete)


def _counts(usage: Any) -> dict[str, int | None]:
    read = at(usage, "input_token_details", "cache_read")
    written = at(usage, "input_token_details", "cache_creation")
    return {
        "input": less(at(usage, "input_tokens"), read, written),
        "cache_read": read,
        "cache_write": written,
        "output": at(usage, "output_tokens"),
        "reasoning": at(usage, "output_token_details", "reasoning"),
    }
