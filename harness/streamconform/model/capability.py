"""The capabilities that an implementation can claim; only claimed capabilities are judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:  # the program that hosts adapters starts often and needs only the names below
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
    "stop",
    "raw_stop",
    "documents",
    "stateful",
    "round_trips",
    "attachments",
    "system_messages",
    "custom_tools",
    "requests",
    "compaction",
    "websocket",
    "heal",
    "partial_json",
    "assemble",
    "count_tokens",
    "abort",
    "retries",
    "concurrency",
    "backpressure",
]

CAPABILITIES: frozenset[Capability] = frozenset(get_args(Capability))
Claims = frozenset[Capability]

CALLED: Final[Mapping[Kind, tuple[Function, Capability]]] = {
    "heal": ("heal", "heal"),
    "partial": ("partial", "partial_json"),
    "assemble": ("assemble", "assemble"),
    "tokens": ("count_tokens", "count_tokens"),
    "request": ("build_request", "requests"),
}
"""For each kind of case without bytes, the adapter function it calls and the capability it needs."""
CLAIMED_BY_NAME: Final[Claims] = frozenset(
    {
        "documents",
        "stateful",
        "round_trips",
        "attachments",
        "system_messages",
        "custom_tools",
        "requests",
        "compaction",
        "websocket",
        "heal",
        "partial_json",
        "assemble",
        "count_tokens",
        "abort",
        "retries",
        "concurrency",
        "backpressure",
    }
)
"""Capabilities that must be claimed by name.

Otherwise, a program that does not know `call` could not opt out of functions, and one that does not know
`stream` would read a document as a stream. Clients that rely on the server to keep the history, or that
shorten it on purpose, are rare, and so are those that can send every kind of file, instructions between
messages, or tools without arguments, and those that use a WebSocket.
"""
OF_STREAMS: Final[Claims] = CAPABILITIES - CLAIMED_BY_NAME
"""The claims of an implementation that does not list its capabilities."""
INCLUDED_IN: Final[Mapping[Capability, Capability]] = {"round_trips": "requests"}
"""Capabilities that another one includes: a client that can send any history can also answer a call."""
