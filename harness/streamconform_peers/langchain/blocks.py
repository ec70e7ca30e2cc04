"""Convert LangChain's content blocks and usage to the normal form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streamconform_peers.normal_form import Block, build_call, build_other, get, subtract

CALL_SIGNATURES: Final = "__gemini_function_call_thought_signatures__"
"""The key under which LangChain keeps Gemini's tool call signatures, by the call's id."""


def convert_blocks(message: Any, *, complete: bool) -> Iterator[Block]:
    """Yield the blocks in the order of `content_blocks`, followed by calls that are not in it.

    Valid and invalid calls are in separate lists; `tool_call_chunks` has their order. If `content_blocks`
    contains a call twice, the calls are matched by id.
    """
    texts = {chunk["id"]: chunk["args"] for chunk in get(message, "tool_call_chunks") or ()}
    ids = [get(block, "id") for block in message.content_blocks if "tool_call" in block["type"]]
    order = {id_: number for number, id_ in enumerate(texts)} if len(set(ids)) == len(ids) else {}
    calls = sorted(
        [*message.tool_calls, *message.invalid_tool_calls],
        key=lambda call: order.get(call["id"], len(order)),
    )
    signatures = get(message, "additional_kwargs", CALL_SIGNATURES) or {}
    images = (block for block in message.content if get(block, "type") == "image_url")
    image_signatures = (get(image, "extras", "signature") for image in images)
    for block in message.content_blocks:
        match block["type"]:
            case "text":
                signature, phase = get(block, "extras", "signature"), block.get("phase")
                yield {"type": "text", "text": block.get("text", ""), "signature": signature, "phase": phase}
            case "reasoning":
                extras = block.get("extras", {})
                signature = extras.get("signature") or extras.get("encrypted_content")
                summary = "".join(part.get("text", "") for part in block.get("summary", []))
                text = block.get("reasoning") or summary
                # The Responses API's encrypted reasoning is sent back, but is not in `content_blocks`.
                yield {"type": "thinking", "text": text, **({"signature": signature} if signature else {})}
            case "server_tool_call":
                yield build_call(
                    block["id"], block["name"], block["args"], complete=complete, executor="provider"
                )
            # `content_blocks` has the position; `tool_calls` and `invalid_tool_calls` have the arguments.
            case "tool_call" | "tool_call_chunk" | "invalid_tool_call":
                for call in [call for call in calls if order or call["id"] == block.get("id")][:1]:
                    calls.remove(call)
                    converted = build_call(call["id"], call["name"], call["args"], complete=complete)
                    converted["signature"] = signatures.get(call["id"])
                    yield converted | ({"arguments_text": texts[call["id"]]} if call["id"] in texts else {})
            case "non_standard" if get(block, "value", "type") == "redacted_thinking":
                data = get(block, "value", "data")
                yield {"type": "thinking", "text": "", "signature": data, "redacted": True}
            case "image":  # only `content` has the signature, which is sent back from there
                if signature := next(image_signatures, None):
                    yield {"type": "thinking", "text": "", "signature": signature}
                yield build_other("image")
            case kind:
                yield build_other(kind)
    for call in calls:
        yield build_call(call["id"], call["name"], call["args"], complete=complete)
    # The deprecated field of OpenAI's answers; langchain-google-genai repeats the last call in it.
    legacy = get(message, "additional_kwargs", "function_call")
    if legacy and not ids:
        yield build_call(None, legacy["name"], legacy["arguments"], complete=complete)


def read_usage(usage: Any) -> dict[str, int | None]:
    """Return the usage buckets; with a service tier, names begin with the tier: `flex_cache_read`."""
    read = _find_count(get(usage, "input_token_details"), "cache_read")
    written = get(usage, "input_token_details", "cache_creation")
    return {
        "input": subtract(get(usage, "input_tokens"), read, written),
        "cache_read": read,
        "cache_write": written,
        "output": get(usage, "output_tokens"),
        "reasoning": _find_count(get(usage, "output_token_details"), "reasoning"),
    }


def _find_count(details: Any, name: str) -> int | None:
    return next((count for key, count in (details or {}).items() if key.endswith(name)), None)
