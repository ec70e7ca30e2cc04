"""Convert LiteLLM's response, and the chunks that it was built from, to the normal form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform_peers.litellm.usage import read_usage
from streamconform_peers.normal_form import (
    Block,
    Error,
    append_text,
    build_call,
    build_outcome,
    get,
    get_text,
)

STOP_REASONS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
}


def build_answer(api: str, response: Any, chunks: list[Any], error: Error | None) -> dict[str, Any]:
    """Return the outcome of a response, or of the chunks that it was built from."""
    choice = next(iter(get(response, "choices") or []), None)
    message = get(choice, "message")
    stops = [get(chunk.choices[0], "finish_reason") for chunk in chunks if get(chunk, "choices")]
    stop = next((stop for stop in reversed(stops) if stop), None)
    content: list[Block] = []
    thinking_blocks = get(message, "thinking_blocks") or []
    for block in thinking_blocks:
        redacted = get(block, "type") == "redacted_thinking"
        signature = get(block, "signature") or get(block, "data")
        text = get_text(block, "thinking")
        content.append({"type": "thinking", "text": text, "signature": signature, "redacted": redacted})
    if not thinking_blocks:
        append_text(content, "thinking", get_text(message, "reasoning_content"))
    append_text(content, "text", get_text(message, "content"))
    content += [_convert_call(call.id, call.function, stop) for call in get(message, "tool_calls") or []]
    if legacy := get(message, "function_call"):
        content.append(_convert_call(None, legacy, stop))
    content = _restore_order(content, chunks)
    reason = STOP_REASONS.get(stop, "other") if stop else None
    # For OpenAI, LiteLLM returns the requested model; for the other two APIs, it generates the id.
    fields = {"model": "model"} if api != "openai-chat" else {}
    fields |= {"response_id": "id"} if api not in ("anthropic-messages", "ollama-chat") else {}
    names = {name: get(response, field) for name, field in fields.items()}
    return build_outcome(content, reason, None, usage=read_usage(chunks), error=error, **names)


def _convert_call(id_: str | None, function: Any, stop: str | None) -> Block:
    text = get_text(function, "arguments")
    call = build_call(id_, get_text(function, "name"), text, complete=bool(stop))
    # LiteLLM also uses `{}` in place of arguments that never arrived.
    return call if stop or text != "{}" else call | {"arguments_text": None}


def _restore_order(content: list[Block], chunks: list[Any]) -> list[Block]:
    """Return the blocks in the order of the chunks, which `stream_chunk_builder()` does not keep.

    Content that differs from the sum of the chunks is returned unchanged.
    """
    order: list[Block] = []
    calls: set[int] = set()
    for delta in [get(chunk.choices[0], "delta") for chunk in chunks if get(chunk, "choices")]:
        append_text(order, "thinking", get_text(delta, "reasoning_content"))
        for block in get(delta, "thinking_blocks") or []:
            if get(block, "type") == "redacted_thinking":
                order.append({"type": "thinking", "text": ""})
            if get(block, "signature") or get(block, "data"):
                order.append({"type": "end"})  # the following content is a separate block
        append_text(order, "text", get_text(delta, "content"))
        for call in get(delta, "tool_calls") or []:
            if call.index not in calls:
                order.append({"type": "tool_call"})
                calls.add(call.index)
    order = [block for block in order if block["type"] != "end"]
    blocks = {
        kind: [block for block in content if block["type"] == kind] for kind in ("thinking", "tool_call")
    }
    texts = [block for block in order if block["type"] == "text"]
    counts = {kind: sum(block["type"] == kind for block in order) for kind in blocks}
    if len(blocks["thinking"]) == 1 and not blocks["thinking"][0].get("signature"):
        thoughts = [block for block in order if block["type"] == "thinking"]
        if _join(thoughts) == _join(blocks["thinking"]):
            blocks["thinking"] = thoughts
    is_same_text = _join(texts) == _join([block for block in content if block["type"] == "text"])
    if not is_same_text or any(len(blocks[kind]) != count for kind, count in counts.items()):
        return content
    return [block if block["type"] == "text" else blocks[block["type"]].pop(0) for block in order]


def _join(blocks: list[Block]) -> str:
    return "".join(block["text"] for block in blocks)
