"""A real HTTP server on loopback that sends exactly the bytes that a test requests, when it requests them."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

NAME = b"Server: scripted 1.0\r\n"
HEAD = b"HTTP/1.1 200 OK\r\n" + NAME + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
END = b"0\r\n\r\n"


@dataclass(frozen=True)
class Wait:
    """Stay silent for some seconds, or until the client disconnects."""

    seconds: float


class Reset:
    """Break the connection with a TCP reset."""


Step = bytes | Wait | Reset


@dataclass
class Server:
    """The server's address, and the requests it received."""

    base_url: str
    requests: list[bytes] = field(default_factory=list)


def chunk(data: bytes) -> bytes:
    """Return `data` as one chunk of HTTP's chunked coding."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@contextmanager
def serving(*steps: Step) -> Iterator[Server]:
    """Answer one request with `steps`, each in one socket write, then close."""
    with replying(lambda _: steps) as server:
        yield server


@contextmanager
def replying(*replies: Callable[[bytes], Iterable[Step]]) -> Iterator[Server]:
    """Answer one request per reply, which returns the steps for the request."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)  # on a busy machine, the first command takes longer than 10 s to start
        server = Server(f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread = threading.Thread(target=_answer, args=(listener, server, replies))
        thread.start()
        try:
            yield server
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes a server that got no request
            thread.join(10)


def stream(body: bytes, *, size: int = 100, headers: bytes = b"") -> tuple[Step, ...]:
    """Return the steps that send `body` as an event stream in chunks of `size`."""
    cuts = range(0, len(body), size)
    return (HEAD + headers + b"\r\n", *(chunk(body[at : at + size]) for at in cuts), END)


def document(status: bytes, body: bytes) -> tuple[Step, ...]:
    """Return the step that sends `body` as JSON."""
    head = b"HTTP/1.1 %s\r\n%bContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return (head % (status, NAME, len(body)) + body,)


def _answer(
    listener: socket.socket, server: Server, replies: tuple[Callable[[bytes], Iterable[Step]], ...]
) -> None:
    for reply in replies:
        try:
            connection, _ = listener.accept()
        except (TimeoutError, OSError):
            return
        _answer_one(connection, server, reply)


def _answer_one(connection: socket.socket, server: Server, reply: Callable[[bytes], Iterable[Step]]) -> None:
    with connection:
        connection.settimeout(10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.requests.append(_request(connection))
        try:
            for step in reply(server.requests[-1]):
                if isinstance(step, bytes):
                    connection.sendall(step)
                elif isinstance(step, Wait):
                    _wait(connection, step.seconds)
                else:
                    linger = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        except OSError:
            return  # the client has disconnected, as the tests of limits expect


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = (
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    length = next(lengths, 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def _wait(connection: socket.socket, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            if not connection.recv(1):
                raise ConnectionAbortedError
        except TimeoutError:
            break
    connection.settimeout(10)
