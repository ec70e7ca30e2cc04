"""A recording reverse proxy: it forwards each request to one server and records the exchange.

Both bodies are forwarded unchanged. Each piece of an answer is forwarded as soon as it arrives, and recorded
with its time. Two request headers are replaced: `host` and `accept-encoding`; the latter because the pieces
of a compressed body do not match the server's writes. A WebSocket is forwarded byte for byte after its
handshake, in which no extensions are requested, because they change the frames.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlsplit

import h11

from streamconform.loopback import is_loopback
from streamconform.model.cassette import SWITCHED
from streamconform_capture.record.overheard import Overheard, Received
from streamconform_capture.record.socket_relay import READ_SIZE, Direction, relay
from streamconform_capture.record.socket_tape import SocketTape

MAX_HEAD: Final = 64 * 1024
"""The maximum size of the request line or status line and the headers, and of what a client sends ahead."""
MAX_REQUEST: Final = 64 * 1024 * 1024
"""The maximum size of a request body; requests with images are large."""
MAX_CONNECTIONS: Final = 500
"""With more, the client that has waited longest without sending a request is disconnected."""
IDLE_SECONDS: Final = 300.0
"""The maximum time between two requests of a client."""
RECEIVE_SECONDS: Final = 60.0
"""The maximum time from the first byte of a request to its last."""
HOP_BY_HOP: Final = frozenset({
    b"connection", b"expect", b"keep-alive", b"proxy-authenticate", b"proxy-connection", b"te", b"trailer",
    b"transfer-encoding", b"upgrade",
})  # fmt: skip
"""Headers that apply to a single connection. https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1"""
REPLACED: Final = frozenset({b"accept-encoding", b"content-length", b"host", b"sec-websocket-extensions"})
RESET: Final = struct.pack("ii", 1, 0)
"""Makes `close` send a TCP reset."""

UPGRADE: Final = ((b"Connection", b"Upgrade"), (b"Upgrade", b"websocket"))
"""The headers of a handshake that apply to a single connection."""

Headers = list[tuple[bytes, bytes]]
Sign = Callable[[str, str, Headers, bytes], Headers]
"""Takes a request's method, URL, headers and body; returns the headers to send."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """The server that requests are forwarded to."""

    url: str
    """The address, without a trailing slash."""

    @property
    def is_tls(self) -> bool:
        """Return whether the connection is encrypted."""
        return urlsplit(self.url).scheme == "https"

    @property
    def host(self) -> str:
        """Return the host's name."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """Return the port."""
        return urlsplit(self.url).port or (443 if self.is_tls else 80)

    @property
    def authority(self) -> str:
        """Return the host, and the port unless it is the default one."""
        return urlsplit(self.url).netloc

    @property
    def prefix(self) -> str:
        """Return the path to put in front of each request's own path."""
        return urlsplit(self.url).path


class CannotForward(Exception):
    """A request cannot be forwarded. The message says why, and what to do."""


class RecordingProxy:
    """Listens inside `async with`, and passes each exchange to `keep` when it ends."""

    def __init__(
        self,
        upstream: Upstream,
        keep: Callable[[Overheard], None],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        sign: Sign | None = None,
    ) -> None:
        """Store the settings without listening yet; `port` 0 chooses a free port."""
        self.url = ""
        """The URL at which it listens, without a trailing slash."""
        self.received = Received()
        self._upstream = upstream
        self._keep = keep
        self._address = host, port
        self._sign = sign
        # Loading certificates is slow, so it is skipped without TLS.
        self._tls = ssl.create_default_context() if upstream.is_tls else None
        self._count = 0
        self._server: asyncio.Server | None = None
        self._is_closing = False
        self._connections: set[asyncio.Task[None]] = set()
        self._waiting: dict[_Client, None] = {}
        """The clients without a complete request, in the order in which they began to wait."""

    async def __aenter__(self) -> Self:
        """Start listening. Raises `OSError` if the port is in use."""
        host, port = self._address
        self._server = await asyncio.start_server(self._accept, host, port, backlog=256)
        self.url = f"http://{host}:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close every connection; the part of each exchange that has arrived is saved."""
        self._is_closing = True
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_closing:  # the client had connected before
            writer.transport.abort()
            return
        if len(self._connections) >= MAX_CONNECTIONS:
            longest = next(iter(self._waiting), None)
            if longest is None:
                writer.transport.abort()
                return
            del self._waiting[longest]
            longest.writer.transport.abort()
        client = _Client(reader, writer)
        self._waiting[client] = None  # at once, because many clients may connect before a task runs
        task = asyncio.ensure_future(self._serve(client))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        # Not in the task, which may be cancelled before it begins.
        task.add_done_callback(lambda _: self._end(client))

    async def _serve(self, client: _Client) -> None:
        with suppress(ConnectionError, h11.RemoteProtocolError, h11.LocalProtocolError):
            while (request := await client.receive_request()) is not None:
                self._waiting.pop(client, None)
                refusal = _find_refusal(request[0])
                if refusal is None:
                    await self._forward(client, *request)
                else:
                    await client.answer(*refusal)
                if not client.is_reusable:
                    break
                client.connection.start_next_cycle()
                self._waiting[client] = None

    def _end(self, client: _Client) -> None:
        self._waiting.pop(client, None)
        client.writer.close()

    async def _forward(self, client: _Client, request: h11.Request, body: bytes) -> None:
        """Forward one request and its response; the exchange is always saved."""
        exchange = self._begin(
            request.method.decode("ascii"),
            request.target.decode("ascii"),
            _decode_headers(request.headers),
            body,
        )
        tape = self._make_tape(exchange) if _is_handshake(request) else None
        # What a client says after a handshake is forwarded, so its end is noticed then.
        leaving = client.wait_until_it_leaves() if tape is None else asyncio.Event().wait()
        left: asyncio.Future[Any] = asyncio.ensure_future(leaving)
        try:
            head = self._make_head(exchange, request)
            await _Forwarding(exchange, client, left, self.received, tape).run(self._connect, head)
        except CannotForward as error:
            exchange.failure = str(error)
            await client.answer(502, str(error))
        except asyncio.CancelledError:
            if not exchange.is_whole:
                exchange.cut = exchange.cut or "client left"
            raise
        finally:
            if tape is not None and exchange.status == SWITCHED:
                tape.end()
            else:
                if exchange.status is not None and not exchange.is_whole:
                    exchange.cut = exchange.cut or "not forwarded"
                self._keep(exchange)
            left.cancel()
            await asyncio.gather(left, return_exceptions=True)  # only one coroutine may read at a time

    def _begin(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Overheard:
        """Return the next exchange."""
        self._count += 1
        return Overheard(
            number=self._count, method=method, target=target, request_headers=headers, request_body=body
        )

    def _make_tape(self, handshake: Overheard) -> SocketTape:
        target, headers = handshake.target, handshake.request_headers
        return SocketTape(
            handshake, lambda body: self._begin("POST", target, headers, body), self._keep, self.received
        )

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        upstream = self._upstream
        name = upstream.host if self._tls else None
        return await asyncio.open_connection(
            upstream.host, upstream.port, ssl=self._tls, server_hostname=name, limit=READ_SIZE
        )

    def _make_head(self, exchange: Overheard, request: h11.Request) -> h11.Request:
        kept = [
            (name, value)
            # `raw_items` keeps the client's spelling of the names.
            for name, value in _drop_hop_by_hop(request)
            if name.lower() not in REPLACED
        ]
        headers = [
            (b"Host", self._upstream.authority.encode("ascii")),
            *kept,
            (b"Accept-Encoding", b"identity"),
            *([*UPGRADE] if _is_handshake(request) else [(b"Connection", b"close")]),
        ]
        if exchange.request_body or exchange.method not in ("GET", "HEAD", "DELETE"):
            headers.append((b"Content-Length", b"%d" % len(exchange.request_body)))
        target = self._upstream.prefix + exchange.target
        if self._sign is not None:
            url = f"{urlsplit(self._upstream.url).scheme}://{self._upstream.authority}{target}"
            headers = self._sign(exchange.method, url, headers, exchange.request_body)
        return h11.Request(method=request.method, target=target, headers=headers)


class _Client:
    """The connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        _disable_delay(writer)

    @property
    def is_reusable(self) -> bool:
        return self.connection.our_state is h11.DONE and self.connection.their_state is h11.DONE

    async def receive_request(self) -> tuple[h11.Request, bytes] | None:
        """Return the next request and its complete body, or None if there is no further request."""
        try:
            async with asyncio.timeout(IDLE_SECONDS) as limit:
                return await self._receive_request(limit)
        except TimeoutError:
            if self.connection.our_state is h11.SEND_RESPONSE:
                await self.answer(408, f"the request did not arrive within {RECEIVE_SECONDS:g} s")
            return None

    async def _receive_request(self, limit: asyncio.Timeout) -> tuple[h11.Request, bytes] | None:
        head: h11.Request | None = None
        body = bytearray()
        has_begun = False
        while True:
            event = self.connection.next_event()
            if event is h11.NEED_DATA:
                # The server is contacted only when the body is complete, so the client must not wait.
                if self.connection.they_are_waiting_for_100_continue:
                    await self.send(h11.InformationalResponse(status_code=100, headers=[]))
                self.connection.receive_data(await self.reader.read(READ_SIZE))
                if not has_begun:
                    has_begun = True
                    limit.reschedule(asyncio.get_running_loop().time() + RECEIVE_SECONDS)
            elif isinstance(event, h11.Request):
                head = event
                if _measure_head(event) > MAX_HEAD:
                    await self.answer(431, f"the headers are larger than {MAX_HEAD:,} bytes")
                    return None
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MAX_REQUEST:
                    await self.answer(413, f"the request body is larger than {MAX_REQUEST:,} bytes")
                    return None
            elif isinstance(event, h11.EndOfMessage):
                assert head is not None, "h11 gives the head first"
                return head, bytes(body)
            else:
                return None

    async def wait_until_it_leaves(self) -> None:
        """Wait until the client closes its side; bytes that arrive before that belong to its next request.

        After `MAX_HEAD` of them, the client's end is no longer noticed here, only when bytes are sent to it.
        """
        ahead = 0
        while ahead < MAX_HEAD:
            try:
                data = await self.reader.read(READ_SIZE)
            except ConnectionError:
                return
            if not data:
                return
            ahead += len(data)
            self.connection.receive_data(data)
        await asyncio.Event().wait()  # until it is cancelled

    async def send(self, event: h11.Event) -> None:
        self.writer.write(self.connection.send(event) or b"")
        await self.writer.drain()

    async def answer(self, status: int, message: str) -> None:
        """Send our own error document."""
        body = b'{"error":{"type":"proxy_error","message":"%b"}}' % message.encode("ascii", "replace")
        headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
        await self.send(h11.Response(status_code=status, headers=headers))
        await self.send(h11.Data(data=body))
        await self.send(h11.EndOfMessage())


class _Forwarding:
    """A request that is being forwarded to the server, and its answer."""

    def __init__(
        self,
        exchange: Overheard,
        client: _Client,
        left: asyncio.Future[Any],
        received: Received,
        tape: SocketTape | None,
    ) -> None:
        self._exchange = exchange
        self._tape = tape
        self._client = client
        self._left = left
        self._received = received
        self._sent_at = 0.0
        self._unsent = bytearray()
        """The bytes that arrived in the same read; sent at once, however many chunks they were."""

    async def run(
        self,
        connect: Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]],
        head: h11.Request,
    ) -> None:
        try:
            reader, writer = await connect()
        except OSError as error:
            self._exchange.failure = f"cannot connect: {error.strerror or error}"
            await self._client.answer(502, "conform record cannot connect to the upstream")
            return
        _disable_delay(writer)
        # A client that leaves ends the request, as it does without the recorder: the server stops generating.
        self._left.add_done_callback(lambda _: writer.transport.abort())
        try:
            await self._exchange_messages(reader, writer, head)
        finally:
            writer.transport.abort()

    async def _exchange_messages(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: h11.Request
    ) -> None:
        server = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        for part in (head, h11.Data(data=self._exchange.request_body), h11.EndOfMessage()):
            writer.write(server.send(part) or b"")
        try:
            await writer.drain()
            self._sent_at = time.monotonic()
            while True:
                event: object = server.next_event()
                if isinstance(event, h11.Data):
                    self._store(bytes(event.data))
                    continue
                await self._send_data()
                if event is h11.NEED_DATA:
                    server.receive_data(await reader.read(READ_SIZE))
                elif self._tape is not None and _is_switch(event):
                    await self._switch(event, server.trailing_data[0], reader, writer, self._tape)
                    return
                elif await self._receive(event):
                    return
        except (ConnectionError, h11.RemoteProtocolError) as error:
            await self._send_data()
            await self._break_off(error)

    async def _receive(self, event: object) -> bool:
        """Store and forward the head or the end of the answer; return whether it has ended."""
        exchange = self._exchange
        if isinstance(event, h11.Response):
            if _measure_head(event) > MAX_HEAD:
                raise h11.RemoteProtocolError(f"the headers are larger than {MAX_HEAD:,} bytes")
            self._received.answers += 1
            exchange.status = event.status_code
            exchange.headers = _decode_headers(event.headers)
            await self._send(_make_response(event))
        elif isinstance(event, h11.EndOfMessage):
            exchange.is_whole = True
            await self._send(event)
            return True
        elif not isinstance(event, h11.InformationalResponse):
            raise h11.RemoteProtocolError("the server switches to another protocol")
        return False

    async def _switch(
        self,
        event: object,
        rest: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        tape: SocketTape,
    ) -> None:
        """Forward the answer to a handshake, and then what both sides say; `rest` came with the answer."""
        assert isinstance(event, h11.InformationalResponse), "the caller has looked"
        exchange, client = self._exchange, self._client
        exchange.status, exchange.headers = SWITCHED, _decode_headers(event.headers)
        headers = [*_drop_hop_by_hop(event), *UPGRADE]
        await self._send(h11.InformationalResponse(status_code=SWITCHED, headers=headers))
        early = client.connection.trailing_data[0]
        client_side = Direction(client.reader, writer, tape.hear_client, early)
        server_side = Direction(reader, client.writer, tape.hear_server, rest, tape.hear_server_end)
        await relay(client_side, server_side, tape)
        if tape.cut == "reset":
            _reset_on_close(client.writer)

    def _store(self, data: bytes) -> None:
        self._received.bytes += len(data)
        self._unsent += data
        self._exchange.store(data, self._sent_at)

    async def _send_data(self) -> None:
        if self._unsent:
            data = bytes(self._unsent)
            self._unsent.clear()
            await self._send(h11.Data(data=data))

    async def _send(self, event: h11.Event) -> None:
        """Forward bytes to the client; if it has disconnected, disconnect from the server too."""
        with suppress(ConnectionError):
            await self._client.send(event)

    async def _break_off(self, error: Exception) -> None:
        """Record how the answer ended, and end the client's response in the same way."""
        exchange, client = self._exchange, self._client
        if self._left.done():
            exchange.cut = "client left"
            raise ConnectionAbortedError from error
        if exchange.status is None:
            exchange.failure = f"no HTTP response: {error}"
            await client.answer(502, "the upstream sent no HTTP response")
            return
        is_reset = isinstance(error, ConnectionError)
        exchange.cut = "reset" if is_reset else "closed"
        if is_reset:
            _reset_on_close(client.writer)
        raise ConnectionAbortedError from error


def _reset_on_close(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def _is_handshake(request: h11.Request) -> bool:
    """Return whether the client wants to speak WebSocket."""
    return _decode_headers(request.headers).get("upgrade", "").lower() == "websocket"


def _is_switch(event: object) -> bool:
    return isinstance(event, h11.InformationalResponse) and event.status_code == SWITCHED


def _make_response(answer: h11.Response) -> h11.Response:
    """Return the head for the client; h11 adds a transfer encoding if no length is known."""
    headers = _drop_hop_by_hop(answer)
    # A transfer encoding overrides the length. https://www.rfc-editor.org/rfc/rfc9112#section-6.3
    if any(name == b"transfer-encoding" for name, _ in answer.headers):
        headers = [header for header in headers if header[0].lower() != b"content-length"]
    return h11.Response(status_code=answer.status_code, headers=headers, reason=answer.reason)


def _drop_hop_by_hop(message: h11.Request | h11.Response | h11.InformationalResponse) -> Headers:
    """Return the headers that are forwarded, in the sender's spelling."""
    named = {
        word.strip().lower()
        for name, value in message.headers
        if name == b"connection"
        for word in value.split(b",")
    }
    dropped = HOP_BY_HOP | named
    return [(name, value) for name, value in message.headers.raw_items() if name.lower() not in dropped]


def _measure_head(message: h11.Request | h11.Response) -> int:
    """Return the size of a head in bytes. h11's own limit does not apply to a head that arrives at once."""
    line = len(message.target) if isinstance(message, h11.Request) else len(message.reason)
    return line + sum(len(name) + len(value) + 4 for name, value in message.headers)


def _find_refusal(request: h11.Request) -> tuple[int, str] | None:
    """Return the status and the message for a request that is not forwarded, or None."""
    # A client that uses this as a proxy sends whole URLs, but there is only one upstream.
    if not request.target.startswith(b"/"):
        return 400, "the request target must be a path"
    fields = _decode_headers(request.headers)
    # A page may reach this server under a name of its own, which resolves to this machine.
    if not is_loopback(f"http://{fields.get('host', '')}"):
        return 403, "the Host header must name this machine, such as 127.0.0.1"
    if "origin" in fields and not is_loopback(fields["origin"]):
        return 403, "requests from web pages on other machines are not allowed"
    return None


def _decode_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("ascii").lower(): value.decode("latin-1") for name, value in headers}


def _disable_delay(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
