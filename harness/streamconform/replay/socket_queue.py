"""Count the bytes that a client on this machine has not yet read."""

from __future__ import annotations

import socket
from typing import Final

from streamconform.system import PROC

_CONNECTION_TABLE: Final = PROC / "net/tcp"
"""The system's IPv4 connection table, which lists both ends of loopback connections (Linux only).

Source: https://www.kernel.org/doc/Documentation/networking/proc_net_tcp.txt
"""


def count_unread_bytes(connected: socket.socket) -> int:
    """Return the number of unread bytes in the client's socket; 0 if the socket or the table is missing."""
    try:
        ours, theirs = connected.getsockname()[1], connected.getpeername()[1]
        table = _CONNECTION_TABLE.read_text("ascii").splitlines()
    except OSError:
        return 0
    for row in table:
        # Both ends of a loopback connection are in the table; the client's row has its receive queue.
        if f":{theirs:04X} " in row and f":{ours:04X} " in row:
            _, local, _, _, queues, *_ = row.split()
            if local.endswith(f":{theirs:04X}"):
                return int(queues.partition(":")[2], 16)
    return 0
