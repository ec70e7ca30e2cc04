"""What the Anthropic SDK tells of errors: `APIStatusError` is the provider's, in the stream too."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import anthropic
import httpx2

from streamconform.peers.normal_form import SECONDS, Error, at, less, raised

STOPS: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "refusal": "refusal",
}
LOST: Final = (httpx2.TransportError, anthropic.APIConnectionError)
"""While it reads, the HTTP library's own errors come through."""


@cache
def _client() -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="none", max_retries=0, timeout=SECONDS)


def client(run: Any) -> anthropic.Anthropic:
    """Return the client of a run: the process's, with the run's address."""
    return _client().with_options(base_url=run.base_url, api_key=run.api_key)


def request(run: Any) -> dict[str, Any]:
    """Return the run's request; what it leaves out that the SDK does not ask without is filled in."""
    return {"model": run.model, "max_tokens": 1, "messages": [], **(run.request or {})}


def told(error: Exception) -> Error | None:
    """Return the error that an exception of the SDK tells; None where the connection was lost.

    For an error frame the SDK tells the status of the response, 200, which is no error's.
    """
    if isinstance(error, LOST):
        return None
    if not isinstance(error, anthropic.APIStatusError):
        return raised(error)
    message = at(error.body, "error", "message")
    return {
        "type": at(error.body, "error", "type"),
        "message": message if isinstance(message, str) else error.message,
        "status": error.status_code if error.status_code >= 400 else None,
    }


def counts(usage: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the buckets of usage: the fields of the SDK's objects, the last of each."""
    return {
        "input": less(usage.get("input_tokens")),
        "cache_read": usage.get("cache_read_input_tokens"),
        "cache_write": usage.get("cache_creation_input_tokens"),
        "cache_write_1h": at(usage.get("cache_creation"), "ephemeral_1h_input_tokens"),
        "output": usage.get("output_tokens"),
        "reasoning": at(usage.get("output_tokens_details"), "thinking_tokens"),
        "web_searches": at(usage.get("server_tool_use"), "web_search_requests"),
    }
