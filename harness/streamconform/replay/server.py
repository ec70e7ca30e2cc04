"""The replay server: HTTP/1.1 on loopback, one path prefix per trial, one write per chunk."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Final, Self, TypeVar
from urllib.parse import unquote

from streamconform.adapters.feed import Gate
from streamconform.model.cassette import Transport
from streamconform.model.trial import WEBSOCKET, AnyTrial, Behavior, Trial
from streamconform.replay.exchange import TrialExchange
from streamconform.replay.reply import Reply, encode_head, make_error_reply
from streamconform.replay.request import (
    PARTIAL_REQUEST,
    BadRequest,
    ClientConnection,
    ReceivedRequest,
    ServerLimits,
    receive_request,
)
from streamconform.replay.scripted import ScriptedExchange
from streamconform.replay.sending import send_reply
from streamconform.replay.websocket import Conversation, WatchReply

HOST: Final = "127.0.0.1"
_PREFIX: Final = re.compile(r"/x/(?P<id>[0-9]+|[^/?]+/[^/?]+/[^/?]+)(?=/|\?|$)")
"""`/x/7` stands for a trial in a run; `/x/api/topic/case@delivery` stands for the trial with that id."""
_EXPECTED_PATH: Final = "a path that begins with a trial's base URL, `/x/…`"

AnyExchange = TypeVar("AnyExchange", bound=TrialExchange)
FindTrial = Callable[[str], Trial | str]
"""Returns the trial with the given id, or a message if there is none."""
WatchRequest = Callable[[str, ReceivedRequest, Reply], None]
"""Receives a trial's id, a request with its target below the base URL, and the reply to it."""


class ReplayServer:
    """Serves trials within `async with`: those opened with `exchange`, and those that `find` returns."""

    def __init__(
        self,
        find: FindTrial | None = None,
        *,
        port: int = 0,
        bounds: ServerLimits | None = None,
        time_scale: float = 0.0,
        watch: WatchRequest | None = None,
        make_index: Callable[[], Reply] | None = None,
    ) -> None:
        """Store the settings without starting to listen; port 0 selects a free port.

        `make_index` returns the reply to `GET /`, which names no trial.
        """
        self.url = ""
        """The server's URL, without a trailing slash."""
        self._find = find
        self._port = port
        self._bounds = bounds or ServerLimits()
        self._time_scale = time_scale
        self._watch = watch
        self._make_index = make_index
        self._server: asyncio.Server | None = None
        self._ids = itertools.count(1)
        self._exchanges: dict[str, TrialExchange] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._idle: dict[asyncio.Task[None], ClientConnection] = {}
        """The connections that wait for a request or for the rest of one, longest idle first."""
        self._errors: list[BaseException] = []

    async def __aenter__(self) -> Self:
        """Start listening. Raises `OSError` if the port is in use."""
        # Only IPv4 loopback, because recordings must not be reachable from the network, and `socket_queue`
        # reads the table of IPv4 connections.
        self._server = await asyncio.start_server(self._accept, HOST, self._port, backlog=256)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://{HOST}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection. Raises the first internal error, unless another exception is active."""
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        # A bug in this server must not look like a client failure.
        if self._errors and error is None:
            raise self._errors[0]

    @contextlib.contextmanager
    def exchange(self, trial: AnyTrial, gate: Gate | None = None) -> Iterator[TrialExchange]:
        """Serve `trial` under its own base URL until the context ends."""
        id_ = str(next(self._ids))
        own = TrialExchange(self.base_url(id_, trial.transport), trial, gate, self._time_scale)
        with self._open(id_, own) as exchange:
            yield exchange

    @contextlib.contextmanager
    def perform(self, trial: Behavior, seconds: float) -> Iterator[ScriptedExchange]:
        """Serve the script of `trial`, which gets this time, until the context ends."""
        id_ = str(next(self._ids))
        with self._open(id_, ScriptedExchange(self.base_url(id_), trial, seconds=seconds)) as exchange:
            yield exchange

    @contextlib.contextmanager
    def _open(self, id_: str, exchange: AnyExchange) -> Iterator[AnyExchange]:
        self._exchanges[id_] = exchange
        try:
            yield exchange
        finally:
            del self._exchanges[id_]
            # An incomplete request names no trial, but it explains why no request arrived.
            if any(connection.is_mid_request for connection in self._idle.values()):
                exchange.note_stray(PARTIAL_REQUEST)
            exchange.end()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= self._bounds.connections:
            if not self._idle:
                writer.transport.abort()
                return
            # An adapter that creates a client per trial leaves an idle connection in its pool.
            self._idle.pop(next(iter(self._idle))).writer.transport.abort()
        task = asyncio.ensure_future(self._serve_connection(ClientConnection(reader, writer, self._bounds)))
        self._connections.add(task)
        task.add_done_callback(self._remove_task)

    def _remove_task(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._errors.append(error)

    async def _serve_connection(self, connection: ClientConnection) -> None:
        sock: socket.socket = connection.writer.get_extra_info("socket")
        # Without Nagle's algorithm, which would join small chunks into one packet.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.writer.transport.set_write_buffer_limits(high=0)  # `drain` then waits for every byte
        try:
            await self._answer_requests(connection)
        except (OSError, TimeoutError):
            connection.writer.transport.abort()  # the client closed the connection, or took too long
        finally:
            connection.writer.close()

    async def _answer_requests(self, connection: ClientConnection) -> None:
        """Answer requests until the connection cannot be reused."""
        task = asyncio.current_task()
        assert task is not None, "every connection has a task"
        rest, is_reusable = b"", True
        while is_reusable:
            self._idle[task] = connection
            try:
                received = await receive_request(connection, rest)
            except BadRequest as error:
                self._note_stray(error.description)
                message = f"the server got {error.description}"
                reply = make_error_reply(error.status, message, "an HTTP/1.1 request")
                await connection.write(encode_head(reply, "length", close=True) + reply.chunks[0])
                return
            finally:
                self._idle.pop(task, None)
            if received is None:
                return
            is_reusable = await self._answer(received, connection)
            rest = received.rest

    async def _answer(self, received: ReceivedRequest, connection: ClientConnection) -> bool:
        """Send the reply to a request and return whether the connection can be reused."""
        if self._make_index is not None and received.method == "GET" and received.target == "/":
            reply = self._make_index()
            return await send_reply(reply, received, connection, asyncio.Event(), None, None)
        prefix = _PREFIX.match(received.target)
        id_ = unquote(prefix["id"]) if prefix else ""
        target = received.target[prefix.end() if prefix else 0 :] or "/"
        exchange = self._find_exchange(id_, is_handshake=received.is_handshake)
        if not isinstance(exchange, str) and exchange.accepts_handshake(received, target):
            await Conversation(exchange, received, target, connection, self._make_watch(id_)).hold()
            return False
        if isinstance(exchange, str):
            self._note_stray(f"`{received.method} {received.target[:200]}`: {exchange}")
            reply, ended, gate, note_sent = _make_stray_reply(received, exchange), asyncio.Event(), None, None
        elif isinstance(exchange, ScriptedExchange):
            return await exchange.serve(received, target, connection)
        else:
            reply = exchange.answer(received, target)
            ended, gate, note_sent = exchange.ended, exchange.get_gate(reply), exchange.note_sent
            exchange.transports.add(connection.writer.transport)
        self._make_watch(id_)(replace(received, target=target), reply)
        try:
            return await send_reply(reply, received, connection, ended, gate, note_sent)
        finally:
            if not isinstance(exchange, str):
                exchange.transports.discard(connection.writer.transport)

    def _make_watch(self, id_: str) -> WatchReply:
        watch = self._watch
        return lambda received, reply: None if watch is None else watch(id_, received, reply)

    def _find_exchange(self, id_: str, *, is_handshake: bool) -> TrialExchange | str:
        """Return the exchange of the trial `id_`, or a message if there is no such trial."""
        if not id_:
            return "the path does not begin with a base URL"
        if id_ in self._exchanges:
            return self._exchanges[id_]
        # Numbers identify trials of a run. A late request must not get another trial's answer.
        if self._find is None or id_.isdigit():
            return f"there is no trial `{id_[:200]}`, or it has ended"
        # So that a case has one base URL, whatever the transport.
        trial = self._find(f"{id_}@{WEBSOCKET}" if is_handshake and "@" not in id_ else id_)
        if isinstance(trial, str):
            return trial
        return TrialExchange(self.base_url(id_, trial.transport), trial, None, self._time_scale)

    def base_url(self, id_: str, transport: Transport = "http") -> str:
        """Return the base URL of a trial."""
        url = self.url if transport == "http" else self.url.replace("http:", "ws:", 1)
        return f"{url}/x/{id_}"

    def _note_stray(self, description: str) -> None:
        """Record a request without a trial in every running trial, since any of them may have caused it."""
        for exchange in self._exchanges.values():
            exchange.note_stray(description)


def _make_stray_reply(received: ReceivedRequest, why: str) -> Reply:
    """Return the reply to a request that belongs to no trial."""
    return make_error_reply(
        404, f"`{received.method} {received.target[:200]}`: {why}", _EXPECTED_PATH, note=why
    )
