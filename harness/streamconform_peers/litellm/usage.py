"""Convert LiteLLM's usage to disjoint buckets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from streamconform.normal.blocks import get, subtract

CACHE_WRITE_FIELDS: Final = ("cache_creation_tokens", "cache_write_tokens")
"""The possible names of the cache write count in `prompt_tokens_details`."""


def read_usage(chunks: list[Any]) -> dict[str, int | None]:
    """Return the usage buckets from the last chunk with usage."""
    usage = next((usage for chunk in reversed(chunks) if (usage := get(chunk, "usage"))), None)
    details = get(usage, "prompt_tokens_details")
    cached = get(details, "cached_tokens")
    counts = (
        get(usage, "cache_creation_input_tokens"),
        *(get(details, name) for name in CACHE_WRITE_FIELDS),
    )
    searches = (
        get(usage, "server_tool_use", "web_search_requests"),
        get(details, "web_search_requests"),
    )
    # LiteLLM reports 0 even if the provider does not count reasoning.
    reasoning = get(usage, "completion_tokens_details", "reasoning_tokens")
    return {
        "input": subtract(get(usage, "prompt_tokens"), cached, _find_first(counts)),
        "cache_read": cached,
        "cache_write": _find_first(counts),
        "cache_write_1h": get(details, "cache_creation_token_details", "ephemeral_1h_input_tokens"),
        "web_searches": _find_first(searches),
        "output": get(usage, "completion_tokens"),
        **({"reasoning": reasoning} if reasoning else {}),
    }


def _find_first(counts: Iterable[int | None]) -> int | None:
    """Return the first count that is not None; it may be 0."""
    return next((count for count in counts if count is not None), None)
