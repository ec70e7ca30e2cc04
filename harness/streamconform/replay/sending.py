"""Send a reply to a socket: one timed write per chunk, then the ending that the trial requires."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Final

from streamconform.adapters.feed import Gate
from streamconform.replay.reply import LAST_CHUNK, Reply, Transfer, encode_chunk, encode_head
from streamconform.replay.request import ClientConnection, ReceivedRequest
from streamconform.replay.socket_queue import count_unread_bytes

_RESET: Final = struct.pack("ii", 1, 0)
"""`SO_LINGER` with a timeout of 0: closing the socket sends an RST, as a crashed host would."""
_READ_SECONDS: Final = 1.0
"""Time in seconds for the client to read everything before a reset, so that its speed does not matter."""
_PROCESS_SECONDS: Final = 0.03
"""Time in seconds for the client to process the data that it has read."""
_POLL_SECONDS: Final = 0.01
"""Seconds between checks of the client's receive queue."""


async def send_reply(
    reply: Reply,
    received: ReceivedRequest,
    connection: ClientConnection,
    ended: asyncio.Event,
    gate: Gate | None = None,
    note_sent: Callable[[int], None] | None = None,
) -> bool:
    """Send `reply` and return whether the connection can be reused.

    `ended` is set when the trial ends; `note_sent` receives the number of chunks sent so far. Raises
    `OSError` if the client closed the connection.
    """
    # HTTP/1.0 has no chunked coding.
    transfer: Transfer = "close" if reply.transfer == "chunked" and not received.chunked else reply.transfer
    close = transfer == "close" or not received.keep
    start = asyncio.get_running_loop().time()
    await connection.write(encode_head(reply, transfer, close=close))
    if received.method == "HEAD":
        return not close
    for i, chunk in enumerate(reply.chunks):
        if reply.times:
            await asyncio.sleep(start + reply.times[i] - asyncio.get_running_loop().time())
        if gate is not None:
            await gate.wait_for_turn()
        # The trial timed out while the client was still reading, so the rest is no longer needed.
        if ended.is_set():
            return False
        await connection.write(encode_chunk(chunk, transfer))
        if note_sent is not None:
            note_sent(i + 1)
    match reply.ending:
        case "whole":
            if transfer == "chunked":
                await connection.write(LAST_CHUNK)
            return not close
        case "reset":
            await reset_connection(connection, ended)
        case "stall":
            await _stall(connection, ended)
    return False


async def reset_connection(connection: ClientConnection, ended: asyncio.Event) -> None:
    """Send an RST as soon as the client has read everything."""
    # Some clients discard data that they read together with the RST, so let them read everything first.
    sock: socket.socket = connection.writer.get_extra_info("socket")
    await _wait_until_read(sock, connection, ended)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    connection.writer.transport.abort()


async def _stall(connection: ClientConnection, ended: asyncio.Event) -> None:
    """Pause, then close our side without ending the body, and wait for the client to close."""
    await _wait_until_gone(connection, ended, connection.bounds.stall_seconds)
    if connection.writer.can_write_eof() and not connection.writer.transport.is_closing():
        connection.writer.write_eof()
    await _wait_until_gone(connection, ended, connection.bounds.idle_seconds)


async def _wait_until_read(sock: socket.socket, connection: ClientConnection, ended: asyncio.Event) -> None:
    """Wait until the client has read everything and had time to process it, or has closed the connection."""
    for _ in range(int(_READ_SECONDS / _POLL_SECONDS)):
        if ended.is_set() or connection.reader.at_eof() or not count_unread_bytes(sock):
            break
        await _wait_until_gone(connection, ended, _POLL_SECONDS)
    await _wait_until_gone(connection, ended, _PROCESS_SECONDS)


async def _wait_until_gone(connection: ClientConnection, ended: asyncio.Event, seconds: float | None) -> None:
    """Wait until the trial ends, the client closes the connection, or `seconds` have passed."""
    waiting = {asyncio.ensure_future(ended.wait()), asyncio.ensure_future(_drain(connection.reader))}
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _drain(reader: asyncio.StreamReader) -> None:
    # asyncio reports that the client has closed its side only to a task that is reading.
    while await reader.read(65536):
        pass
