"""Find the unknown keys in an outcome, and the known keys that they probably mean. Pure.

Unknown keys are legal and are not judged. They are listed because a misspelt key looks like a value that the
library does not expose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from streamconform.model import outcome as oc
from streamconform.suggestions import suggest

MAX_UNKNOWN_KEYS: Final = 16
"""The maximum number of distinct unknown keys listed per trial."""
MAX_PATH: Final = 80
"""The maximum length of a listed path."""

OUTCOME: Final = "outcome"
"""The name of the outcome itself in `KNOWN_KEYS`; paths do not contain it."""
_OWN_FIELDS: Final = ("absent", "omitted")
"""Fields of our own types that are not keys of the normal form."""
KNOWN_KEYS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(field.name for field in fields(kind)).difference(_OWN_FIELDS)
    for name, kind in {
        OUTCOME: oc.Outcome,
        "stop": oc.Stop,
        "usage": oc.Usage,
        "cost": oc.Cost,
        "error": oc.Error,
        "text": oc.Text,
        "refusal": oc.Refusal,
        "thinking": oc.Thinking,
        "tool_call": oc.ToolCall,
        "other": oc.Other,
    }.items()
}
"""The known keys of the outcome, of each group and of each type of block."""

KEY_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "input_tokens": ("input",),
    "prompt_tokens": ("input",),
    "inputTokens": ("input",),
    "promptTokenCount": ("input",),
    "output_tokens": ("output",),
    "completion_tokens": ("output",),
    "outputTokens": ("output",),
    "candidatesTokenCount": ("output",),
    "cache_read_input_tokens": ("cache_read",),
    "cached_tokens": ("cache_read",),
    "cacheReadInputTokens": ("cache_read",),
    "cachedContentTokenCount": ("cache_read",),
    "cache_creation_input_tokens": ("cache_write",),
    "cacheWriteInputTokens": ("cache_write",),
    "ephemeral_1h_input_tokens": ("cache_write_1h",),
    "reasoning_tokens": ("reasoning",),
    "thoughtsTokenCount": ("reasoning",),
    "web_search_requests": ("web_searches",),
    "stop_reason": ("stop", "reason"),
    "finish_reason": ("stop", "reason"),
    "stopReason": ("stop", "reason"),
    "finishReason": ("stop", "reason"),
    "stop_sequence": ("stop", "sequence"),
    "tool_calls": ("content",),
    "toolCalls": ("content",),
    "blocks": ("content",),
    "message": ("content",),
    "text": ("content",),
    "id": ("response_id",),
    "args": ("arguments",),
    "input": ("arguments",),
    "parameters": ("arguments",),
    "partial_json": ("arguments_text",),
    "thinking": ("text",),
    "reasoning": ("text",),
    "reasoning_content": ("text",),
    "thought_signature": ("signature",),
    "thoughtSignature": ("signature",),
    "encrypted_content": ("signature",),
    "code": ("type",),
    "status_code": ("status",),
}
"""Names that providers and libraries use, with the names in the normal form; the first known one is meant."""


def find_unknown_keys(outcome: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of unknown keys in a valid outcome, such as `usage.input_tokens`, `tool_call.args`."""
    found: set[str] = set()
    for path in _iter_unknown_keys(outcome):
        found.add(path[:MAX_PATH])
        if len(found) >= MAX_UNKNOWN_KEYS:
            break
    return tuple(sorted(found))


def _iter_unknown_keys(outcome: Mapping[str, Any]) -> Iterator[str]:
    yield from sorted(outcome.keys() - KNOWN_KEYS[OUTCOME])
    for name in ("stop", "usage", "cost", "error"):
        group = outcome.get(name)
        if isinstance(group, Mapping):
            yield from (f"{name}.{key}" for key in sorted(group.keys() - KNOWN_KEYS[name]))
    for block in outcome["content"]:
        type_ = block["type"]
        yield from (f"{type_}.{key}" for key in sorted(block.keys() - KNOWN_KEYS[type_]))


def suggest_key(path: str) -> str:
    """Return `; did you mean `input`?` for the path of an unknown key, or "" if no known key is close."""
    name, _, key = path.rpartition(".")
    known = KNOWN_KEYS.get(name or OUTCOME, frozenset())
    alias = next((other for other in KEY_ALIASES.get(key, ()) if other in known), None)
    return f"; did you mean `{alias}`?" if alias is not None else suggest(key, sorted(known))
