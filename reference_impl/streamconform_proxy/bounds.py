"""What the proxy bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_HEADER_FIELD: Final = 16 * 1024
"""Bytes of the request line, and of a header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Sizes in bytes, times in seconds."""

    body: int = 32 * 1024 * 1024
    """Of a request, as Anthropic's api has it."""
    streams: int = 256
    """Requests that are answered at a time."""
    receive: float = 60.0
    """For the body of a request, and for the next request of a connection."""
    ping: float = 10.0
    """Silence of the upstream after which the client's stream is kept alive."""
    stalled: float = 300.0
    """For a client that does not read."""
    longest: float = 3600.0
    """For one answer."""
    grace: float = 5.0
    """For the streams that are on when the proxy is stopped."""

    @property
    def words(self) -> str:
        """What a user should know of them."""
        sizes = f"{self.streams} requests at a time, of {self.body >> 20} MiB"
        return f"{sizes}; answers of {self.longest / 60:g} min"
