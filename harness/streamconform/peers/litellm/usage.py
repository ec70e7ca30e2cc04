"""What LiteLLM tells of usage, as disjoint buckets."""

from __future__ import annotations

from typing import Any, Final

from streamconform.peers.normal_form import at, less

WRITTEN: Final = ("cache_creation_tokens", "cache_write_tokens")


def counts(chunks: list[Any]) -> dict[str, int | None]:
    """Return the buckets of the last usage among the chunks."""
    usage = next((found for each in reversed(chunks) if (found := at(each, "usage"))), None)
    details = at(usage, "prompt_tokens_details")
    cached = at(details, "cached_tokens")
    told_of = (at(usage, "cache_creation_input_tokens"), *(at(details, name) for name in WRITTEN))
    written = next((each for each in told_of if each is not None), None)
    return {
        "input": less(at(usage, "prompt_tokens"), cached, written),
        "cache_read": cached,
        "cache_write": written,
        "cache_write_1h": at(details, "cache_creation_token_details", "ephemeral_1h_input_tokens"),
        "web_searches": at(usage, "server_tool_use", "web_search_requests")
        or at(details, "web_search_requests"),
        "output": at(usage, "completion_tokens"),
        "reasoning": at(usage, "completion_tokens_details", "reasoning_tokens"),
    }
