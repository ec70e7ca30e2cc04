"""How a run gets its bytes, and the gate that tells whether events come out while it still does."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any, Final

from streamconform.model.trial import Input

HOLD_SECONDS: Final = 1.0
"""How long the last chunk waits for the first delta."""


class Gate:
    """Keeps the last of `chunks` back until the first delta came out, or a second is over.

    Who hands the chunks over awaits `passes` before each; who reads the events tells `saw`.
    """

    def __init__(self, chunks: int, seconds: float | None = None) -> None:
        """Begin before the first chunk."""
        self.handed = 0
        """Chunks that went through."""
        self.seen = 0
        """Events that came out one by one."""
        self._chunks = chunks
        self._seconds = HOLD_SECONDS if seconds is None else seconds
        self._open = asyncio.Event()

    async def passes(self) -> None:
        """Return when the next chunk may go."""
        if self.handed == self._chunks - 1:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await self._open.wait()
        self.handed += 1

    def saw(self, event: Any) -> None:
        """Note an event that came out."""
        self.seen += 1
        if isinstance(event, dict) and str(event.get("type")).endswith("_delta"):
            self._open.set()


@dataclass(frozen=True, slots=True)
class Feed:
    """The input of a run: with the run, line by line behind it, or from a server."""

    input: Input = "bytes"
    base_url: str | None = None
    """Where the server answers this run, in mode http."""
    gate: Gate | None = None


WITH_THE_RUN: Final = Feed()
