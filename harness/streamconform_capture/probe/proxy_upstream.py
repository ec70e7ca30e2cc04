"""The upstream of a proxy: a port on this machine that forwards to the replay of the current trial.

A proxy has only one upstream address, but each trial has its own base URL. The relay therefore puts the
trial's path in front of the path of each request. It forwards everything else as it arrives, including
half-closes and resets, with one write per read.
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
READ_SIZE: Final = 65536
MAX_HEAD: Final = 64 * 1024
MAX_BODY: Final = 8 * 1024 * 1024
"""The maximum number of bytes stored per request body; a longer body is still forwarded completely."""
MAX_REQUESTS: Final = 16
"""The maximum number of requests stored per trial."""
IDLE_SECONDS: Final = 60.0
"""The timeout for reading or connecting."""
HOP_HEADERS: Final = re.compile(rb"\r\n(connection|keep-alive|proxy-connection|host):[^\r\n]*", re.IGNORECASE)
UNAVAILABLE: Final = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(slots=True)
class TrialUpstream:
    """The upstream of one trial, and the requests that the proxy sent to it."""

    base_url: str
    requests: list[UpstreamRequest] = field(default_factory=list)


@dataclass(slots=True)
class UpstreamRequest:
    """One request from the proxy to its upstream."""

    method: str
    path: str
    body: bytearray = field(default_factory=bytearray)
    chunked: bool = False

    def parse_json(self) -> dict[str, Any] | None:
        """Return the body, or None if it is not a JSON object."""
        try:
            value = json.loads(_decode_chunked(bytes(self.body)) if self.chunked else bytes(self.body))
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class UpstreamRelay:
    """Listens on the upstream's port; `upstream` belongs to the current trial and is None between trials."""

    def __init__(self, port: int) -> None:
        """Start listening. Raises `OSError` if the port is in use."""
        self.upstream: TrialUpstream | None = None
        self._listener = socket.create_server((HOST, port), backlog=64)
        threading.Thread(target=self._accept, name="upstream", daemon=True).start()

    @property
    def port(self) -> int:
        """Return the port on which the relay listens."""
        port: int = self._listener.getsockname()[1]
        return port

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                proxy, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(proxy,), daemon=True).start()

    def _serve(self, proxy: socket.socket) -> None:
        with proxy, contextlib.suppress(OSError):
            proxy.settimeout(IDLE_SECONDS)
            proxy.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            head, rest = _read_head(proxy)
            # After the head, because a connection may have been opened during an earlier trial.
            upstream = self.upstream
            if upstream is None or not head:
                proxy.sendall(UNAVAILABLE)
                return
            request, new_head = _rewrite_head(head, upstream.base_url)
            request.body += rest
            if len(upstream.requests) < MAX_REQUESTS:
                upstream.requests.append(request)
            url = urlsplit(upstream.base_url)
            with socket.create_connection((url.hostname or HOST, url.port or 80), IDLE_SECONDS) as replay:
                replay.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                replay.sendall(new_head + rest)
                # In a thread, so that the end of either direction is forwarded without waiting for the other.
                sender = threading.Thread(target=_forward_request, args=(proxy, replay, request), daemon=True)
                sender.start()
                _forward_answer(replay, proxy)
                sender.join(IDLE_SECONDS)


def _read_head(proxy: socket.socket) -> tuple[bytes, bytes]:
    """Return a request's head and the bytes received after it; both are empty if the head is incomplete."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = proxy.recv(READ_SIZE)
        if not chunk or len(data) > MAX_HEAD:
            return b"", b""
        data += chunk
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _rewrite_head(head: bytes, base_url: str) -> tuple[UpstreamRequest, bytes]:
    """Return the request, and its head rewritten with the trial's path and `connection: close`."""
    line, _, fields = head.partition(b"\r\n")
    method, _, target = line.partition(b" ")
    parts = urlsplit(target.partition(b" ")[0].decode("latin-1"))
    trial_url = urlsplit(base_url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    chunked = (
        re.search(rb"\r\ntransfer-encoding:[^\r\n]*chunked", b"\r\n" + fields, re.IGNORECASE) is not None
    )
    request = UpstreamRequest(method.decode("latin-1"), path, chunked=chunked)
    # One request per connection, because only the first head is rewritten, and the next request may belong to
    # another trial.
    start = b"%b %b HTTP/1.1\r\nhost: %b\r\nconnection: close" % (
        method,
        (trial_url.path + path).encode("latin-1"),
        trial_url.netloc.encode("ascii"),
    )
    return request, start + HOP_HEADERS.sub(b"", b"\r\n" + fields) + b"\r\n\r\n"


def _forward_request(proxy: socket.socket, replay: socket.socket, request: UpstreamRequest) -> None:
    """Forward the request's bytes; if the proxy disconnects, reset the replay's connection."""
    with contextlib.suppress(OSError):
        while data := proxy.recv(READ_SIZE):
            request.body += data[: max(0, MAX_BODY - len(request.body))]
            replay.sendall(data)
        replay.shutdown(socket.SHUT_WR)
        return
    _reset(replay)


def _forward_answer(replay: socket.socket, proxy: socket.socket) -> None:
    """Forward the answer's bytes as they arrive, and then its end or reset."""
    while True:
        try:
            data = replay.recv(READ_SIZE)
        except OSError:
            # Some proxies drop bytes that arrive together with a reset.
            _wait_until_read(proxy)
            _reset(proxy)
            return
        if not data:
            with contextlib.suppress(OSError):
                proxy.shutdown(socket.SHUT_WR)
            return
        proxy.sendall(data)


def _wait_until_read(connection: socket.socket) -> None:
    """Wait, as the replay server does, until the proxy has read everything and had time to process it."""
    for _ in range(int(_READ_SECONDS / _POLL_SECONDS)):
        if not count_unread_bytes(connection):
            break
        time.sleep(_POLL_SECONDS)
    time.sleep(_PROCESS_SECONDS)


def _reset(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        # Wakes the thread that reads from this socket; until its `recv` returns, `close` sends no reset.
        connection.shutdown(socket.SHUT_RD)
        connection.close()


def _decode_chunked(body: bytes) -> bytes:
    """Decode a body in chunked transfer encoding, which may be truncated."""
    data, rest = b"", body
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        if not length:
            break
        data, rest = data + rest[:length], rest[length + 2 :]
    return data
