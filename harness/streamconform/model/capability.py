"""What an implementation can claim; it is judged on what it claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from streamconform.model.case import Function, Kind

Capability = Literal[
    "tool_calls",
    "parallel_tool_calls",
    "thinking",
    "signatures",
    "usage",
    "cache_usage",
    "usage_details",
    "cost",
    "events",
    "errors",
    "refusals",
    "provider_tools",
    "raw_stop",
    "requests",
    "heal",
    "partial_json",
    "count_tokens",
]

CAPABILITIES: frozenset[Capability] = frozenset(get_args(Capability))
Claims = frozenset[Capability]

CALLED: Final[Mapping[Kind, tuple[Function, Capability]]] = {
    "heal": ("heal", "heal"),
    "partial": ("partial", "partial_json"),
    "tokens": ("count_tokens", "count_tokens"),
    "request": ("build_request", "requests"),
}
"""The function that cases of each kind call, without bytes, and what must be claimed for it."""
OF_CALLS: Final[Claims] = frozenset({"requests", "heal", "partial_json", "count_tokens"})
"""These are never claimed by silence: a program that knows no calls could not say so."""
OF_STREAMS: Final[Claims] = CAPABILITIES - OF_CALLS
"""What an implementation claims that names no capabilities."""
