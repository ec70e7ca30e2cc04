"""Convert Haystack's messages, chunks and usage to the normal form."""

from __future__ import annotations

from typing import Any

from streamconform.normal.blocks import Block, append_text, build_call, get, get_text, subtract


def convert_message(message: Any, chunks: list[Any], *, complete: bool) -> list[Block]:
    """Return a message's blocks in the order that the chunks show; calls keep their own order."""
    order = [key for chunk in chunks for key in _find_keys(chunk)]
    placed: list[tuple[int, Block]] = []
    if message.reasoning:
        signature = message.reasoning.extra.get("encrypted_content")
        text = message.reasoning.reasoning_text
        thinking = {"type": "thinking", "text": text, "signature": signature}
        placed.append((_find_place(order, "thinking"), thinking))
    if message.text:
        placed.append((_find_place(order, "text"), {"type": "text", "text": message.text}))
    places = sorted(_find_place(order, f"call {call.id}") for call in message.tool_calls)
    for call, place in zip(message.tool_calls, places, strict=True):
        # In Responses, `id` is the item's id, and tool results refer to `call_id`.
        id_ = get(call.extra, "call_id") or call.id
        block = build_call(id_, call.tool_name, None, complete=complete)
        placed.append((place, block | {"arguments": call.arguments}))
    return [block for _, block in sorted(placed, key=lambda each: each[0])]


def _find_place(order: list[str], key: str) -> int:
    return order.index(key) if key in order else -1


def _find_keys(chunk: Any) -> list[str]:
    """Return the keys of the blocks that a chunk belongs to."""
    kinds = {"thinking": chunk.reasoning, "text": chunk.content}
    return [kind for kind, value in kinds.items() if value] + [
        f"call {call.id}" for call in chunk.tool_calls or []
    ]


def add_up_chunks(chunks: list[Any]) -> list[Block]:
    """Return the blocks of an answer for which the library built no message; its calls are unfinished."""
    content: list[Block] = []
    calls: dict[int, Block] = {}
    for chunk in chunks:
        append_text(content, "thinking", get(chunk.reasoning, "reasoning_text"))
        append_text(content, "text", get_text(chunk, "content"))
        for call in chunk.tool_calls or []:
            if call.index not in calls:
                calls[call.index] = build_call(get_text(call, "id"), call.tool_name, "", complete=False)
                content.append(calls[call.index])
    return content


def read_usage(usage: Any) -> dict[str, int | None]:
    """Return the usage buckets; the fields are named as in the API."""
    is_chat = "prompt_tokens" in (usage or {})
    input_, output = ("prompt", "completion") if is_chat else ("input", "output")
    details = get(usage, f"{input_}_tokens_details")
    cached, written = get(details, "cached_tokens"), get(details, "cache_write_tokens")
    return {
        "input": subtract(get(usage, f"{input_}_tokens"), cached, written),
        "cache_read": cached,
        "cache_write": written,
        "output": get(usage, f"{output}_tokens"),
        "reasoning": get(usage, f"{output}_tokens_details", "reasoning_tokens"),
    }
