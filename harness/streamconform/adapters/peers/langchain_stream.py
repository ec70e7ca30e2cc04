"""`peer:langchain`: LangChain's chat models, `stream()`, the chunks added up, `content_blocks` of the sum.

The prompt and the tools of the request are sent in the library's own form. Calls are the sum's `tool_calls`
and `invalid_tool_calls`. What a provider's SDK raises comes through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from langchain_google_genai.chat_models import ChatGoogleGenerativeAIError

from streamconform.adapters.peers import anthropic_errors, cohere_v1, google_parts, openai_chat
from streamconform.adapters.peers.langchain_models import MODELS, prompt, tools
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
    lost = False
    try:
        model = MODELS[run.api](run)
        declared = tools(run)
        for chunk in (model.bind_tools(declared) if declared else model).stream(prompt(run)):
            whole = chunk if whole is None else whole + chunk
    except LOST:
        lost = True
    except ChatGoogleGenerativeAIError as thrown:  # the provider's error is its cause
        error = told(thrown.__cause__ if isinstance(thrown.__cause__, Exception) else thrown)
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error = told(thrown)
    told_of = at(whole, "response_metadata") or {}
    raw = next((str(told_of[name]) for name in REASONS if told_of.get(name)), None)
    raw = raw or at(told_of, "incomplete_details", "reason") or at(told_of, "status")
    blocked = at(told_of, "prompt_feedback", "block_reason")
    raw = raw or (str(at(blocked, "value") or blocked) if blocked else None)
    raw = None if lost else raw  # it gave no whole answer
    return outcome(
        list(_blocks(whole, complete=bool(raw))) if whole is not None else [],
        "content_filter" if blocked and raw else STOPS.get(raw, "other") if raw else None,
        raw,
        usage=_counts(at(whole, "usage_metadata") or told_of.get("token_count")),
        error=error,
        model=told_of.get("model_name") or told_of.get("model"),
        response_id=told_of.get("id") or _provider_id(at(whole, "id")),
    )


def _provider_id(given: str | None) -> str | None:
    """Return the id of the message, unless it is a number of LangChain's own runs."""
    return None if (given or "").startswith("lc_run-") else given


def _blocks(whole: Any, *, complete: bool) -> Iterator[Block]:
    """Return the blocks in the order of `content_blocks`; calls that do not stand there come last."""
    calls = [*whole.tool_calls, *whole.invalid_tool_calls]
    texts = {each["id"]: each["args"] for each in whole.tool_call_chunks}
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
