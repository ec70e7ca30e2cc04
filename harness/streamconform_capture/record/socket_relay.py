"""Forward what both sides of a WebSocket say, byte for byte, while a tape listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from streamconform_capture.record.live import Cut
from streamconform_capture.record.socket_tape import SocketTape

READ_SIZE: Final = 64 * 1024
CLOSE_SECONDS: Final = 5.0
"""The maximum time for which one side stays open after the other one has ended."""


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a WebSocket."""

    source: asyncio.StreamReader
    target: asyncio.StreamWriter
    hear: Callable[[bytes], None]
    early: bytes
    """What arrived together with the head."""
    hear_end: Callable[[Cut], None] = lambda _: None
    """Receives how the source ended, before the target does."""

    async def run(self) -> None:
        """Forward bytes, and their proper end, until the source or the target ends."""
        data = self.early
        with suppress(ConnectionError, RuntimeError):  # the latter is raised if the target is being closed
            while data := data or await self._read():
                self.target.write(data)
                self.hear(data)
                await self.target.drain()
                data = b""
            if self.target.can_write_eof():
                self.target.write_eof()

    async def _read(self) -> bytes:
        """Return the next bytes, which are empty at the end. Raises `ConnectionError`."""
        try:
            data = await self.source.read(READ_SIZE)
        except ConnectionError:
            self.hear_end("reset")
            raise
        if not data:
            self.hear_end("closed")
        return data


async def relay(client: Direction, server: Direction, tape: SocketTape) -> None:
    """Forward both directions until one side has ended.

    A client that leaves without a close frame ends the answer, so that the server stops generating; after a
    close frame, either side may still send its own.
    """
    tasks = [asyncio.ensure_future(each.run()) for each in (client, server)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tape.has_server_ended or tape.has_client_closed:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
