"""Parts of the Google Gen AI SDK to blocks, and its usage to buckets."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from streamconform.peers.normal_form import Block, call, less, other

STOPS: Final[Mapping[str, str]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"), "content_filter"),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "LANGUAGE", "NO_IMAGE"), "error"),
    **dict.fromkeys(("MODEL_ARMOR", "JAILBREAK"), "content_filter"),
    **dict.fromkeys(("TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"), "error"),
}


def take(content: list[Block], part: Any) -> None:
    """Add a part: text and thoughts to the block before, where that is of their kind and not signed."""
    signature = b64encode(part.thought_signature).decode() if part.thought_signature else None
    last = content[-1] if content else {}
    kind = "thinking" if part.thought else "text"
    if part.text:
        if last.get("type") == kind and not last.get("signature"):
            last["text"] += part.text
        else:
            content.append({"type": kind, "text": part.text})
    if signature:
        unsigned = [each for each in content[-1:] if each["type"] == "thinking" and not each.get("signature")]
        if unsigned:
            unsigned[0]["signature"] = signature
        else:
            content.append({"type": "thinking", "text": "", "signature": signature})
    if part.function_call:
        _take_call(content, part.function_call)
    if part.text is None and not part.function_call and not signature:
        content.append(other(next(iter(part.model_dump(exclude_none=True)), "part")))


def _take_call(content: list[Block], part: Any) -> None:
    """Add a call, or go on with the one that is open, whose arguments come in pieces, each with its path."""
    if part.name:
        args = {} if part.will_continue else part.args or {}
        content.append(call(part.id, part.name, args, complete=not part.will_continue))
    for each in [each for each in content[-1:] if each["type"] == "tool_call"]:
        for piece in part.partial_args or []:
            _put(each["arguments"], piece)
        each["complete"] = not part.will_continue


KEYS: Final = re.compile(r"\.([^.\[]+)|\[['\"](.*?)['\"]\]|\[(\d+)\]")
"""The keys of the paths that occur, such as `$.stops[0].name` and `$['a.b']`."""


def _put(holder: Any, piece: Any) -> None:
    """Put a piece where its path says; a text goes behind the text that is there."""
    keys = [name or quoted or int(at) for name, quoted, at in KEYS.findall(piece.json_path or "")]
    values = (piece.string_value, piece.number_value, piece.bool_value)
    value: Any = next((each for each in values if each is not None), None)
    for key, below in zip(keys, [*keys[1:], None], strict=False):
        if isinstance(holder, list):
            holder.extend([None] * (int(key) + 1 - len(holder)))
        was = holder[key] if isinstance(holder, list) else holder.get(key)
        if below is None:
            holder[key] = was + value if isinstance(was, str) and isinstance(value, str) else value
            return
        holder[key] = was if was is not None else [] if isinstance(below, int) else {}
        holder = holder[key]


def counts(seen: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the buckets: candidates exclude thoughts, the prompt includes the cache and not the tools'."""
    written = [seen.get(name) for name in ("candidates_token_count", "thoughts_token_count")]
    fresh = less(seen.get("prompt_token_count"), seen.get("cached_content_token_count"))
    asked = [fresh, seen.get("tool_use_prompt_token_count")]
    return {
        "input": sum(each or 0 for each in asked) if any(each is not None for each in asked) else None,
        "cache_read": seen.get("cached_content_token_count"),
        "output": sum(each or 0 for each in written) if any(each is not None for each in written) else None,
        "reasoning": seen.get("thoughts_token_count"),
    }
