"""Parts of the Google Gen AI SDK to blocks, and its usage to buckets."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from streamconform.adapters.peers.normal import Block, call, less, other

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
    """Add a call, or go on with the one that is open: pieces of arguments the SDK hands over as they are."""
    if part.name:
        args = None if part.will_continue else part.args or {}
        content.append(call(part.id, part.name, args, complete=not part.will_continue))
        content[-1]["arguments"] = args
    for each in [each for each in content[-1:] if each["type"] == "tool_call" and not part.name]:
        each["complete"] = not part.will_continue


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
