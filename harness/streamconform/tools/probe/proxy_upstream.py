"""Where a proxy looks for its upstream: a port of this machine, handed on to the trial that is on.

A proxy has one upstream, and trials are told apart by the path: so the path of the trial is put before that
of each request, and everything else goes on as it comes: a write a read, a half that is closed, a reset.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from streamconform.replay.sending import _POLL_SECONDS, _PROCESS_SECONDS, _READ_SECONDS, _RESET
from streamconform.replay.socket_queue import count_unread_bytes

HOST: Final = "127.0.0.1"
READ: Final = 65536
MAX_HEAD: Final = 64 * 1024
MAX_BODY: Final = 8 * 1024 * 1024
"""Bytes of a request's body that are kept to be judged; a longer one goes on all the same."""
MAX_ASKED: Final = 16
"""Requests of a trial that are kept."""
IDLE: Final = 60.0
"""Seconds after which a connection on which nothing comes is given up."""
HOP: Final = re.compile(rb"\r\n(connection|keep-alive|proxy-connection|host):[^\r\n]*", re.IGNORECASE)
CLOSED: Final = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(slots=True)
class Upstream:
    """What a trial's upstream is, and what the proxy asked of it."""

    base_url: str
    asked: list[Asked] = field(default_factory=list)


@dataclass(slots=True)
class Asked:
    """One request of a proxy."""

    method: str
    path: str
    body: bytearray = field(default_factory=bytearray)
    chunked: bool = False

    def json(self) -> dict[str, Any] | None:
        """Return the body, None where it is no JSON object."""
        try:
            value = json.loads(_joined(bytes(self.body)) if self.chunked else bytes(self.body))
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class Relay:
    """Listens on the port of the upstream; `upstream` is that of the trial that is on, None in between."""

    def __init__(self, port: int) -> None:
        """Begin to listen; raises `OSError` where the port is taken."""
        self.upstream: Upstream | None = None
        self._listening = socket.create_server((HOST, port), backlog=64)
        threading.Thread(target=self._accept, name="upstream", daemon=True).start()

    @property
    def port(self) -> int:
        """Return where it listens."""
        port: int = self._listening.getsockname()[1]
        return port

    def close(self) -> None:
        """Listen no more."""
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._connected, args=(near,), daemon=True).start()

    def _connected(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError):
            near.settimeout(IDLE)
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            head, rest = _head(near)
            upstream = self.upstream
            if upstream is None or not head:
                near.sendall(CLOSED)
                return
            asked, line = _rewritten(head, upstream.base_url)
            asked.body += rest
            if len(upstream.asked) < MAX_ASKED:
                upstream.asked.append(asked)
            where = urlsplit(upstream.base_url)
            with socket.create_connection((where.hostname or HOST, where.port or 80), IDLE) as far:
                far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                far.sendall(line + rest)
                there = threading.Thread(target=_forth, args=(near, far, asked), daemon=True)
                there.start()
                _back(far, near)
                there.join(IDLE)


def _head(near: socket.socket) -> tuple[bytes, bytes]:
    """Return the head of a request and what came behind it; nothing where none came."""
    got = b""
    while b"\r\n\r\n" not in got:
        more = near.recv(READ)
        if not more or len(got) > MAX_HEAD:
            return b"", b""
        got += more
    head, _, rest = got.partition(b"\r\n\r\n")
    return head, rest


def _rewritten(head: bytes, base_url: str) -> tuple[Asked, bytes]:
    """Return the request, and its head as it goes on: to the trial, and the only one on its connection."""
    line, _, fields = head.partition(b"\r\n")
    method, _, target = line.partition(b" ")
    path = urlsplit(target.partition(b" ")[0].decode("latin-1"))
    where = urlsplit(base_url)
    below = path.path + (f"?{path.query}" if path.query else "")
    chunked = (
        re.search(rb"\r\ntransfer-encoding:[^\r\n]*chunked", b"\r\n" + fields, re.IGNORECASE) is not None
    )
    asked = Asked(method.decode("latin-1"), below, chunked=chunked)
    first = b"%b %b HTTP/1.1\r\nhost: %b\r\nconnection: close" % (
        method,
        (where.path + below).encode("latin-1"),
        where.netloc.encode("ascii"),
    )
    return asked, first + HOP.sub(b"", b"\r\n" + fields) + b"\r\n\r\n"


def _forth(near: socket.socket, far: socket.socket, asked: Asked) -> None:
    """Hand on what the proxy sends; that it goes away is told by a reset."""
    with contextlib.suppress(OSError):
        while data := near.recv(READ):
            asked.body += data[: max(0, MAX_BODY - len(asked.body))]
            far.sendall(data)
        far.shutdown(socket.SHUT_WR)
        return
    _reset(far)


def _back(far: socket.socket, near: socket.socket) -> None:
    """Hand on what the upstream sends, as it comes, and how it ends."""
    while True:
        try:
            data = far.recv(READ)
        except OSError:
            _until_read(near)  # what comes with the RST, some proxies never hand on
            _reset(near)
            return
        if not data:
            with contextlib.suppress(OSError):
                near.shutdown(socket.SHUT_WR)
            return
        near.sendall(data)


def _until_read(connected: socket.socket) -> None:
    """Return when the proxy has read, and had time to make something of it: as the server waits."""
    for _ in range(int(_READ_SECONDS / _POLL_SECONDS)):
        if not count_unread_bytes(connected):
            break
        time.sleep(_POLL_SECONDS)
    time.sleep(_PROCESS_SECONDS)


def _reset(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connected.shutdown(socket.SHUT_RD)
        connected.close()


def _joined(body: bytes) -> bytes:
    """Return a chunked body without its sizes, as far as it is one."""
    joined, rest = b"", body
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        if not length:
            break
        joined, rest = joined + rest[:length], rest[length + 2 :]
    return joined
