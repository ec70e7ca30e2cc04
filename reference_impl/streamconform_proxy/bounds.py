"""The limits of the proxy: sizes, times and concurrent requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_HEADER_FIELD: Final = 16 * 1024
"""Bytes in the request line, and in one header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyBounds:
    """Limits in bytes and seconds."""

    body: int = 32 * 1024 * 1024
    """Bytes in a request's body; the limit of Anthropic's API."""
    streams: int = 256
    """Maximum requests that are answered at the same time."""
    receive: float = 60.0
    """Seconds to receive a request's body, and to wait for the next request on a connection."""
    ping: float = 10.0
    """Seconds of silence from the upstream after which the client gets a ping."""
    stalled: float = 300.0
    """Seconds after which a client that reads nothing is disconnected."""
    longest: float = 3600.0
    """Seconds that one answer may take."""
    grace: float = 5.0
    """Seconds that running answers have to finish when the proxy is stopped."""

    @property
    def summary(self) -> str:
        """The limits that matter to a user, as text for the startup message."""
        requests = f"{self.streams} requests at a time, each up to {self.body >> 20} MiB"
        return f"{requests}; answers up to {self.longest / 60:g} min"
