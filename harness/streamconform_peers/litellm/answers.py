"""Convert LiteLLM's response, and the chunks that it was built from, to the normal form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform.normal.blocks import Block, Error, append_text, build_call, build_outcome, get, get_text
from streamconform_peers.litellm.usage import read_usage

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
    names: dict[str, str | None] = {}
    if api != "openai-chat":
        names["model"] = get(response, "model")
    if api not in ("anthropic-messages", "ollama-chat"):
        names["response_id"] = get(response, "id")
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
    order = _list_order(chunks)
    texts, thoughts = _select(order, "text"), _select(order, "thinking")
    thinking, calls = _select(content, "thinking"), _select(content, "tool_call")
    if len(thinking) == 1 and not thinking[0].get("signature") and _join(thoughts) == _join(thinking):
        thinking = thoughts
    is_same = _join(texts) == _join(_select(content, "text"))
    is_same &= len(thinking) == len(thoughts)
    is_same &= len(calls) == len(_select(order, "tool_call"))
    if not is_same:
        return content
    blocks = {"text": iter(texts), "thinking": iter(thinking), "tool_call": iter(calls)}
    return [next(blocks[block["type"]]) for block in order]


def _list_order(chunks: list[Any]) -> list[Block]:
    """Return the texts and thoughts that the chunks add up to, and a block without content for each call."""
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
    return [block for block in order if block["type"] != "end"]


def _select(blocks: list[Block], kind: str) -> list[Block]:
    return [block for block in blocks if block["type"] == kind]


def _join(blocks: list[Block]) -> str:
    return "".join(block["text"] for block in blocks)
