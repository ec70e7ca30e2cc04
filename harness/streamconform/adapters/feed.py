"""How an implementation receives a body, and the gate that detects whether it streams events live."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

from msgspec import Struct

from streamconform.model.trial import Input

# Only a client that buffers the whole body takes that long, once per trial that judges streaming.
HOLD_SECONDS: Final = 1.0
"""How long the last chunk waits for the first delta."""


class Gate:
    """Holds the last of `chunks` back until the first delta arrives or `seconds` have passed.

    The code that sends the chunks awaits `wait_for_turn` before each one; the code that reads the events
    calls `record_event`. A client that parses while it reads emits a delta before the last chunk; a client
    that buffers the whole body cannot.
    """

    def __init__(self, chunks: int, seconds: float | None = None) -> None:
        """Store the number of chunks, of which none has been sent yet."""
        self.chunks_passed = 0
        """Chunks let through so far."""
        self.events_seen = 0
        """Events that arrived one by one."""
        self._chunks = chunks
        self._seconds = HOLD_SECONDS if seconds is None else seconds
        self._open = asyncio.Event()

    async def wait_for_turn(self) -> None:
        """Wait until the next chunk may be sent."""
        if self.chunks_passed == self._chunks - 1:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await self._open.wait()
        self.chunks_passed += 1

    def record_event(self, event: Any) -> None:
        """Count an event that arrived; a delta opens the gate."""
        self.events_seen += 1
        if isinstance(event, dict) and str(event.get("type")).endswith("_delta"):
            self._open.set()


class Feed(Struct, frozen=True):
    """Where a run gets its body: from the run message, from chunk messages after it, or from a server."""

    input: Input = "bytes"
    base_url: str | None = None
    """The server's base URL for this run, in mode http."""
    gate: Gate | None = None


BYTES_WITH_RUN: Final = Feed()
"""The run message contains all bytes."""
