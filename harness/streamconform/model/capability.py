"""What an implementation can claim; it is judged on what it claims."""

from __future__ import annotations

from typing import Literal, get_args

Capability = Literal[
    "tool_calls",
    "parallel_tool_calls",
    "thinking",
    "signatures",
    "usage",
    "cache_usage",
    "cost",
    "events",
    "errors",
    "refusals",
    "provider_tools",
    "requests",
    "heal",
    "partial_json",
    "count_tokens",
]

CAPABILITIES: frozenset[Capability] = frozenset(get_args(Capability))
Claims = frozenset[Capability]
