"""Convert LangChain's messages, and the chunks that add up to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamconform.normal.blocks import Block, Error, build_call, build_other, build_outcome, get, subtract
from streamconform.normal.stop_reasons import translate_stop

CALL_SIGNATURES: Final = "__gemini_function_call_thought_signatures__"
"""The key under which LangChain keeps Gemini's tool call signatures, by the call's id."""
CALL_TYPES: Final = frozenset({"tool_call", "tool_call_chunk", "invalid_tool_call"})
"""Blocks that stand for a call of the client's tools."""
STOP_FIELDS: Final = ("finish_reason", "stop_reason", "done_reason")
"""Fields of `response_metadata` in which the integrations put the provider's stop reason."""


def convert_langchain_chunks(chunks: Iterable[Any], *, error: Error | None = None) -> dict[str, Any]:
    """Return the outcome of the chunks of `stream()`, added up."""
    total = None
    for chunk in chunks:
        total = chunk if total is None else total + chunk
    return convert_langchain_message(total, error=error)


def convert_langchain_message(
    message: Any, *, ended: bool = True, error: Error | None = None
) -> dict[str, Any]:
    """Return the outcome of an `AIMessage` or of a sum of chunks; None if the library returned nothing.

    The stop reason is not used if the connection was lost before the answer had `ended`.
    """
    metadata = get(message, "response_metadata") or {}
    raw = next((str(metadata[name]) for name in STOP_FIELDS if metadata.get(name)), None)
    raw = raw or get(metadata, "incomplete_details", "reason") or get(metadata, "status")
    blocked = get(metadata, "prompt_feedback", "block_reason")
    raw = raw or (str(get(blocked, "value") or blocked) if blocked else None)
    raw = raw if ended else None
    return build_outcome(
        list(_convert_blocks(message, complete=bool(raw))) if message is not None else [],
        "content_filter" if blocked and raw else translate_stop(raw),
        raw,
        usage=_read_usage(get(message, "usage_metadata")),
        error=error,
        model=metadata.get("model_name") or metadata.get("model"),
        **_read_response_id(metadata, message),
    )


def _convert_blocks(message: Any, *, complete: bool) -> Iterator[Block]:
    """Yield the blocks in the order of `content_blocks`, followed by calls that are not in it."""
    calls = _Calls(message, complete=complete)
    images = (block for block in message.content if get(block, "type") == "image_url")
    image_signatures = (get(image, "extras", "signature") for image in images)
    for block in message.content_blocks:
        if block["type"] in CALL_TYPES:
            yield from calls.take(block.get("id"))
            continue
        # Only `content` has an image's signature, which is sent back from there.
        if block["type"] == "image" and (signature := next(image_signatures, None)):
            yield {"type": "thinking", "text": "", "signature": signature}
        yield _convert_block(block, complete=complete)
    yield from calls.take_rest()
    # The deprecated field of OpenAI's answers; langchain-google-genai repeats the last call in it.
    legacy = get(message, "additional_kwargs", "function_call")
    if legacy and not calls.has_blocks:
        yield build_call(None, legacy["name"], legacy["arguments"], complete=complete)


class _Calls:
    """The calls of a message: `content_blocks` has their positions, but not their arguments.

    Valid and invalid calls are in separate lists; `tool_call_chunks` has their order. If `content_blocks`
    contains a call twice, the calls are matched by id.
    """

    def __init__(self, message: Any, *, complete: bool) -> None:
        self._complete = complete
        self._texts = {chunk["id"]: chunk["args"] for chunk in get(message, "tool_call_chunks") or ()}
        self._signatures = get(message, "additional_kwargs", CALL_SIGNATURES) or {}
        ids = [get(block, "id") for block in message.content_blocks if "tool_call" in block["type"]]
        self.has_blocks = bool(ids)
        is_unique = len(set(ids)) == len(ids)
        self._order = {id_: number for number, id_ in enumerate(self._texts) if is_unique}
        self._left = sorted(
            [*message.tool_calls, *message.invalid_tool_calls],
            key=lambda call: self._order.get(call["id"], len(self._order)),
        )

    def take(self, id_: str | None) -> Iterator[Block]:
        """Yield the next call or, if the order is unknown, the next with this id."""
        call = next((call for call in self._left if self._order or call["id"] == id_), None)
        if call is None:
            return
        self._left.remove(call)
        block = build_call(call["id"], call["name"], call["args"], complete=self._complete)
        block["signature"] = self._signatures.get(call["id"])
        if call["id"] in self._texts:
            block["arguments_text"] = self._texts[call["id"]]
        yield block

    def take_rest(self) -> Iterator[Block]:
        """Yield the calls that are not in `content_blocks`."""
        for call in self._left:
            yield build_call(call["id"], call["name"], call["args"], complete=self._complete)


def _convert_block(block: Any, *, complete: bool) -> Block:
    """Return any block but a call of the client's tools."""
    match block["type"]:
        case "text":
            signature, phase = get(block, "extras", "signature"), block.get("phase")
            return {"type": "text", "text": block.get("text", ""), "signature": signature, "phase": phase}
        case "reasoning":
            return _convert_reasoning(block)
        case "server_tool_call":
            return build_call(
                block["id"], block["name"], block["args"], complete=complete, executor="provider"
            )
        case "non_standard" if get(block, "value", "type") == "redacted_thinking":
            data = get(block, "value", "data")
            return {"type": "thinking", "text": "", "signature": data, "redacted": True}
        case kind:
            return build_other(kind)


def _convert_reasoning(block: Any) -> Block:
    extras = block.get("extras", {})
    signature = extras.get("signature") or extras.get("encrypted_content")
    summary = "".join(part.get("text", "") for part in block.get("summary", []))
    thinking = {"type": "thinking", "text": block.get("reasoning") or summary}
    # The Responses API's encrypted reasoning is sent back, but is not in `content_blocks`.
    return {**thinking, "signature": signature} if signature else thinking


def _read_usage(usage: Any) -> dict[str, int | None]:
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


def _read_response_id(metadata: Mapping[str, Any], message: Any) -> dict[str, Any]:
    """Return the provider's id, or nothing if LangChain generated the message's id for its own run."""
    id_ = metadata.get("id") or get(message, "id")
    return {} if id_ is None or id_.startswith("lc_run-") else {"response_id": id_}
