"""Convert the events of one answer to an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from streamconform.normal.responses import convert_response_events
from streamconform_peers.library_call import ExceptionKeeper

ZERO_IF_UNKNOWN: Final = ("cache_read", "cache_write", "reasoning")
"""Buckets that the library reports as 0 for Chat Completions if the provider does not count them."""


def build_answer(api: str, events: Sequence[Any], kept: ExceptionKeeper) -> dict[str, Any]:
    """Return the outcome of an answer's events."""
    completed = next((event.response for event in events if event.type == "response.completed"), None)
    final = completed if completed and completed.output else None
    outcome = convert_response_events(events, final, error=kept.error)
    if api == "openai-chat":  # the library returns the requested model, and a constant as the id
        del outcome["model"], outcome["response_id"]
        usage = outcome["usage"] or {}
        outcome["usage"] = {
            name: count for name, count in usage.items() if count or name not in ZERO_IF_UNKNOWN
        }
    return outcome
