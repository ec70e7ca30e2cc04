"""OpenAI Chat Completions: https://platform.openai.com/docs/api-reference/chat-streaming.

Providers of this format differ in four ways: reasoning has a separate field, content may be a list of parts,
calls may lack an index, and usage may be in another place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from streamconform_dev.corpus.plain_reader.reading import (
    Block,
    Json,
    Reading,
    as_dict,
    drop_nulls,
    iter_payloads,
    make_call,
    settle_reason,
)

REASONS: Final = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
}
REASONING: Final = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class _Call:
    """A call under construction."""

    index: int | None
    id: str = ""
    name: str = ""
    text: str = ""


@dataclass(slots=True)
class _Answer:
    """What has been read of an answer."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    raw: str | None = None
    """The reason why it ended."""
    usage: Json = field(default_factory=dict)
    tier: str | None = None
    model: str | None = None


def read(body: bytes) -> Reading:
    """Return the facts about the first choice in an SSE body."""
    answer = _Answer()
    for chunk in iter_payloads(body):
        if chunk.get("error"):
            return Reading(status="error", reason="error", error_type=as_dict(chunk["error"]).get("type"))
        answer.tier = chunk.get("service_tier") or answer.tier
        answer.model = chunk.get("model") or answer.model
        reported = as_dict(chunk.get("usage")) or as_dict(chunk.get("x_groq")).get("usage")
        answer.usage = reported or answer.usage
        for choice in chunk.get("choices") or []:
            if choice.get("index", 0) == 0:
                _read_choice(answer, choice)
    blocks = _make_blocks(answer)
    usage = _count(answer.usage)
    if answer.raw is None:
        return Reading(status="incomplete", reason=None, blocks=blocks, usage=usage)
    reason = settle_reason(REASONS.get(answer.raw, "other"), blocks)
    return Reading(
        status="complete",
        reason="refusal" if reason == "stop" and any(answer.refusal) else reason,
        raw=answer.raw,
        blocks=blocks,
        usage=usage,
        service_tier=answer.tier,
        model=answer.model,
    )


def _read_choice(answer: _Answer, choice: Json) -> None:
    """Add what a chunk says about the answer."""
    answer.raw = choice.get("finish_reason") or answer.raw
    answer.usage = as_dict(choice.get("usage")) or answer.usage
    delta = as_dict(choice.get("delta"))
    _read_content(delta.get("content"), answer.text, answer.thinking)
    answer.thinking.append(next((delta[key] for key in REASONING if delta.get(key)), ""))
    answer.refusal.append(delta.get("refusal") or "")
    for fragment in delta.get("tool_calls") or []:
        _add_fragment(answer.calls, fragment)
    if delta.get("function_call") and not delta.get("tool_calls"):
        _add_fragment(answer.calls, {"index": 0, "function": delta["function_call"]})


def _make_blocks(answer: _Answer) -> tuple[Block, ...]:
    parts = (("thinking", answer.thinking), ("text", answer.text), ("refusal", answer.refusal))
    texts = [Block(kind, "".join(pieces)) for kind, pieces in parts if any(pieces)]
    # A limit cuts the last call.
    ended = len(answer.calls) - (answer.raw in ("length", "content_filter")) if answer.raw else 0
    calls = [make_call(call.name, call.id, call.text, ended=n < ended) for n, call in enumerate(answer.calls)]
    return (*texts, *calls)


def _read_content(content: Any, text: list[str], thinking: list[str]) -> None:
    """Add a string, or the parts of a list (Mistral)."""
    if isinstance(content, str):
        text.append(content)
    for part in content if isinstance(content, list) else ():
        if part["type"] == "thinking":
            thinking.extend(each["text"] for each in part["thinking"])
        elif part["type"] == "text":
            text.append(part["text"])


def _add_fragment(calls: list[_Call], fragment: Json) -> None:
    """Add a fragment to the call with its index, or else, if it has an id, to a new call."""
    index, id_ = fragment.get("index"), fragment.get("id") or ""
    call = next((each for each in reversed(calls) if index is not None and each.index == index), None)
    if call is None and index is None and not id_ and calls:
        call = calls[-1]
    if call is None or (id_ and call.id and id_ != call.id):
        call = _Call(index)
        calls.append(call)
    function = as_dict(fragment.get("function"))
    call.id = call.id or id_
    call.name = call.name or function.get("name") or ""
    call.text += function.get("arguments") or ""


def _count(usage: Json) -> dict[str, Any] | None:
    """Return the buckets: cached tokens are part of the prompt, reasoning is part of the completion.

    If the total shows that reasoning was added to it, it is not part of the completion (xAI).
    """
    prompt: Any = usage.get("prompt_tokens")
    completion: Any = usage.get("completion_tokens")
    if prompt is None and completion is None:
        return None
    details = as_dict(usage.get("prompt_tokens_details"))
    cached = details.get("cached_tokens")
    if cached is None:
        cached = usage.get("prompt_cache_hit_tokens")
    written = details.get("cache_write_tokens")
    reasoning = as_dict(usage.get("completion_tokens_details")).get("reasoning_tokens")
    if reasoning and usage.get("total_tokens") == prompt + completion + reasoning:
        completion += reasoning
    return drop_nulls(
        {
            "input": prompt - (cached or 0) - (written or 0),
            "cache_read": cached,
            "cache_write": written,
            "output": completion,
            "reasoning": reasoning,
        }
    )
