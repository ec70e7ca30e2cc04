"""An answer on its way into a socket: a write a chunk, at its time, and the end that it is to have."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Final

from streamconform.adapters.feed import Gate
from streamconform.replay.reply import LAST_CHUNK, Reply, Transfer, framed, head
from streamconform.replay.request import Line, Received
from streamconform.replay.socket_queue import unread

RESET: Final = struct.pack("ii", 1, 0)
"""`SO_LINGER` on, without waiting: to close is to send RST, as a host does that is gone."""
TO_READ: Final = 1.0
"""Seconds for the client to read what was sent before the reset: else a trial would depend on its speed."""
TO_TAKE: Final = 0.03
"""Seconds for it to make something of that."""
AGAIN: Final = 0.01
"""Seconds until it is asked again whether it has read."""


async def send(
    reply: Reply,
    received: Received,
    line: Line,
    over: asyncio.Event,
    gate: Gate | None = None,
    sent: Callable[[int], None] | None = None,
) -> bool:
    """Send `reply` and return whether the connection can go on.

    `over` says that nobody waits for the rest any more; `sent` is told how many chunks have gone. Raises
    `OSError` where the client went.
    """
    transfer: Transfer = "close" if reply.transfer == "chunked" and not received.chunked else reply.transfer
    close = transfer == "close" or not received.keep
    began = asyncio.get_running_loop().time()
    await line.write(head(reply, transfer, close=close))
    if received.method == "HEAD":
        return not close
    for i, chunk in enumerate(reply.chunks):
        if reply.at:
            await asyncio.sleep(began + reply.at[i] - asyncio.get_running_loop().time())
        if gate is not None:
            await gate.wait_for_turn()
        if over.is_set():
            return False
        await line.write(framed(chunk, transfer))
        if sent is not None:
            sent(i + 1)
    match reply.ending:
        case "whole":
            if transfer == "chunked":
                await line.write(LAST_CHUNK)
            return not close
        case "reset":
            connected: socket.socket = line.writer.get_extra_info("socket")
            await _until_read(connected, line, over)  # what comes with the RST, some clients never hand on
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            line.writer.transport.abort()
        case "stall":
            await _stall(line, over)
    return False


async def _stall(line: Line, over: asyncio.Event) -> None:
    """Be silent, then close our half without an end of the body, and wait until the client goes."""
    await _until_gone(line, over, line.bounds.stall_seconds)
    if line.writer.can_write_eof() and not line.writer.transport.is_closing():
        line.writer.write_eof()
    await _until_gone(line, over, line.bounds.idle_seconds)


async def _until_read(connected: socket.socket, line: Line, over: asyncio.Event) -> None:
    """Return when the client has read, and had time to make something of it, or has gone."""
    for _ in range(int(TO_READ / AGAIN)):
        if over.is_set() or line.reader.at_eof() or not unread(connected):
            break
        await _until_gone(line, over, AGAIN)
    await _until_gone(line, over, TO_TAKE)


async def _until_gone(line: Line, over: asyncio.Event, seconds: float | None) -> None:
    """Return when the trial is over, when the client has gone, or after `seconds`."""
    waiting = {asyncio.ensure_future(over.wait()), asyncio.ensure_future(_gone(line.reader))}
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _gone(reader: asyncio.StreamReader) -> None:
    while await reader.read(65536):
        pass
