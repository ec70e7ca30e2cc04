"""WebSockets for tests: a server on loopback that sends the bytes that a test requests, and a client."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)

from streamconform.apis import APIS
from streamconform.wire.websocket import encode_frame

Json = dict[str, Any]
PATH = "/v1/responses"


class End:
    """End the connection without a close frame."""


class Reset:
    """Break the connection with a TCP reset, after the client has had time to read."""


class Silence:
    """Say nothing until the client ends the connection."""


Step = bytes | End | Reset | Silence
Reply = Callable[[str], Iterable[Step]]
"""Returns the steps for a message."""


@dataclass
class SocketServer:
    """The server's addresses, the heads of the handshakes, and the messages."""

    url: str
    base_url: str
    heads: list[bytes] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    closed: list[int | None] = field(default_factory=list)
    """The codes of the close frames; None for a connection that ended without one."""


@contextmanager
def serving_sockets(
    reply: Reply,
    *,
    refuse: Callable[[bytes], tuple[int, Json] | None] = lambda _: None,
    pongs: bool = True,
    closes: bool = True,
) -> Iterator[SocketServer]:
    """Answer each message with the steps of `reply`, on any number of connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        server = SocketServer(f"ws://{address}", f"http://{address}")
        thread = threading.Thread(target=_accept, args=(listener, server, Talk(reply, refuse, pongs, closes)))
        thread.start()
        try:
            yield server
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


@dataclass(frozen=True)
class Talk:
    """What a server does."""

    reply: Reply
    refuse: Callable[[bytes], tuple[int, Json] | None]
    pongs: bool
    closes: bool


def _accept(listener, server, talk) -> None:
    threads = []
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            connection.settimeout(60)
            threads.append(threading.Thread(target=_serve, args=(connection, server, talk)))
            threads[-1].start()
    for thread in threads:
        thread.join(10)


def _serve(connection, server, talk) -> None:
    with connection, suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if b"upgrade: websocket" in connection.recv(65536, socket.MSG_PEEK).lower():
            server.closed.append(_converse(connection, server, talk))


def _converse(connection, server, talk) -> int | None:
    protocol, head, text = WSConnection(ConnectionType.SERVER), b"", ""
    while data := connection.recv(65536):
        if not server.heads or b"\r\n\r\n" not in head:
            head += data
            if b"\r\n\r\n" not in head:
                continue
            server.heads.append(head)
            data = head
        protocol.receive_data(data)
        for event in protocol.events():
            match event:
                case Request():
                    refused = talk.refuse(head)
                    if refused is not None:
                        status, document = refused
                        kind = [(b"content-type", b"application/json")]
                        connection.sendall(
                            protocol.send(RejectConnection(status_code=status, headers=kind, has_body=True))
                        )
                        connection.sendall(protocol.send(RejectData(data=json.dumps(document).encode())))
                        return None
                    connection.sendall(protocol.send(AcceptConnection()))
                case TextMessage(data=part, message_finished=is_whole):
                    text += part
                    if is_whole:
                        server.messages.append(text)
                        for step in talk.reply(text):
                            if isinstance(step, End):
                                return None
                            if isinstance(step, Reset):
                                time.sleep(0.2)
                                linger = struct.pack("ii", 1, 0)
                                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                                return None
                            if isinstance(step, Silence):
                                while connection.recv(65536):
                                    pass
                                return None
                            connection.sendall(step)
                        text = ""
                case Ping() if talk.pongs:
                    connection.sendall(protocol.send(event.response()))
                case CloseConnection(code=code):
                    if talk.closes and protocol.state is ConnectionState.REMOTE_CLOSING:
                        connection.sendall(protocol.send(event.response()))
                    return code
    return None


class SocketClient:
    """A client's connection."""

    def __init__(self, base_url: str, key: str = "", path: str = PATH) -> None:
        """Make the handshake."""
        url = urlsplit(base_url)
        self.socket = socket.create_connection((url.hostname, url.port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.protocol = WSConnection(ConnectionType.CLIENT)
        headers = [(b"Authorization", f"Bearer {key}".encode())] if key else []
        request = Request(host=url.netloc, target=path, extra_headers=headers)
        self.socket.sendall(self.protocol.send(request))
        self.texts: list[str] = []
        self.binary = 0
        self.was_reset = False
        self.close: CloseConnection | None = None
        self.is_open: bool | None = None
        """None until the handshake has been answered."""
        self._text = ""
        while self.is_open is None and self._read():
            pass

    def send(self, message: Json | str) -> None:
        """Send a message."""
        text = message if isinstance(message, str) else json.dumps(message)
        self.socket.sendall(self.protocol.send(TextMessage(data=text)))

    def ask(self, body: Json) -> list[Json]:
        """Ask, and return the events up to the terminal one or the end of the connection."""
        self.texts.clear()
        self.send({"type": "response.create", **body})
        is_terminal = APIS["openai-responses"].ending.is_terminal
        while not any(is_terminal(json.loads(text)) for text in self.texts) and self._read():
            pass
        return [json.loads(text) for text in self.texts]

    def leave(self, *, politely: bool = True) -> None:
        """End the connection, with close frames or without."""
        with self.socket, suppress(OSError):
            if politely and self.protocol.state is ConnectionState.OPEN:
                self.socket.sendall(self.protocol.send(CloseConnection(code=1000)))
                while self._read():
                    pass

    def _read(self) -> bool:
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            self.was_reset, data = True, b""
        self.protocol.receive_data(data or None)
        for event in self.protocol.events():
            match event:
                case AcceptConnection():
                    self.is_open = True
                case RejectConnection():
                    self.is_open = False
                case TextMessage(data=part, message_finished=is_whole):
                    self._text += part
                    if is_whole:
                        self.texts.append(self._text)
                        self._text = ""
                case BytesMessage():
                    self.binary += 1
                case CloseConnection():
                    self.close = self.close or event
                    if self.protocol.state is ConnectionState.REMOTE_CLOSING:
                        with suppress(OSError):
                            self.socket.sendall(self.protocol.send(event.response()))
        return bool(data)


def events(model: str = "m") -> list[Json]:
    """Return the events of a short answer."""
    return [*map(dict, APIS["openai-responses"].canned_replies[0].payloads(model))]


def frame(event: Json) -> bytes:
    """Return an event as a message."""
    return encode_frame(json.dumps(event).encode())


def wait_for(is_over: Callable[[], bool]) -> None:
    """Return when `is_over`, or fail."""
    end = time.monotonic() + 20
    while not is_over():
        assert time.monotonic() < end
        time.sleep(0.01)
