"""The limits of the proxy: sizes, times and concurrent requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_HEADER_FIELD: Final = 16 * 1024
"""The maximum size of the request line and of each header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyBounds:
    """Limits in bytes and seconds."""

    body: int = 32 * 1024 * 1024
    """The maximum size of a request body, which is the limit of Anthropic's API."""
    streams: int = 256
    """The maximum number of requests answered at the same time."""
    receive: float = 60.0
    """The time limit, in seconds, for receiving a body, and for waiting for a connection's next request."""
    ping: float = 10.0
    """Seconds of silence from the upstream after which the client gets a ping."""
    stalled: float = 300.0
    """Seconds without a read after which a client is disconnected."""
    longest: float = 3600.0
    """The time limit, in seconds, for one answer."""
    grace: float = 5.0
    """Seconds to let answers in progress finish when the proxy is stopped."""

    @property
    def summary(self) -> str:
        """The limits that matter to a user, as text for the startup message."""
        requests = f"{self.streams} requests at a time, each up to {self.body >> 20} MiB"
        return f"{requests}; answers up to {self.longest / 60:g} min"
