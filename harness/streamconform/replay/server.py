"""The replay server: HTTP/1.1 on the loopback, a trial behind each path prefix, a write a chunk."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Final, Self
from urllib.parse import unquote

from streamconform.adapters.feed import Gate
from streamconform.model.trial import AnyTrial, Trial
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
from streamconform.replay.sending import send_reply

HOST: Final = "127.0.0.1"
_PREFIX: Final = re.compile(r"/x/(?P<id>[0-9]+|[^/?]+/[^/?]+/[^/?]+)(?=/|\?|$)")
"""`/x/7`, a trial of a run; `/x/api/topic/case@delivery`, a trial by its id."""
_EXPECTED_PATH: Final = "a path that begins with a trial's base URL, `/x/…`"

FindTrial = Callable[[str], Trial | str]
"""Returns the trial of an id, or why there is none."""
WatchRequest = Callable[[str, ReceivedRequest, Reply], None]
"""Sees each request, with the id of its trial and its target below that, and what is answered."""


class ReplayServer:
    """Listens between `async with`; trials are put on it with `exchange`, or found by `find`."""

    def __init__(
        self,
        find: FindTrial | None = None,
        *,
        port: int = 0,
        bounds: ServerLimits | None = None,
        time_scale: float = 0.0,
        watch: WatchRequest | None = None,
    ) -> None:
        """Hold the settings; nothing listens yet. `port` 0 is any that is free."""
        self.url = ""
        """Where it listens, without a slash at the end."""
        self._find = find
        self._port = port
        self._bounds = bounds or ServerLimits()
        self._time_scale = time_scale
        self._watch = watch
        self._server: asyncio.Server | None = None
        self._ids = itertools.count(1)
        self._exchanges: dict[str, TrialExchange] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._idle: dict[asyncio.Task[None], ClientConnection] = {}
        """The connections that wait for a request, or for the rest of one, longest first."""
        self._mistakes: list[BaseException] = []

    async def __aenter__(self) -> Self:
        """Begin to listen; raises `OSError` where the port is taken."""
        self._server = await asyncio.start_server(self._accept, HOST, self._port, backlog=256)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://{HOST}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every connection; raises what is our own mistake, if nothing else is on its way."""
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._mistakes and error is None:
            raise self._mistakes[0]

    @contextlib.contextmanager
    def exchange(self, trial: AnyTrial, gate: Gate | None = None) -> Iterator[TrialExchange]:
        """Answer with `trial` under a base URL of its own, until the context ends."""
        id_ = str(next(self._ids))
        exchange = TrialExchange(self.base_url(id_), trial, gate, self._time_scale)
        self._exchanges[id_] = exchange
        try:
            yield exchange
        finally:
            del self._exchanges[id_]
            if any(line.half for line in self._idle.values()):
                exchange.stray(PARTIAL_REQUEST)
            exchange.end()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= self._bounds.connections:
            if not self._idle:
                writer.transport.abort()
                return
            self._idle.pop(next(iter(self._idle))).writer.transport.abort()  # the one that was longest
        task = asyncio.ensure_future(self._connected(ClientConnection(reader, writer, self._bounds)))
        self._connections.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        mistake = None if task.cancelled() else task.exception()
        if mistake is not None:
            self._mistakes.append(mistake)

    async def _connected(self, line: ClientConnection) -> None:
        connected: socket.socket = line.writer.get_extra_info("socket")
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.writer.transport.set_write_buffer_limits(high=0)  # so that `drain` waits for every byte
        try:
            await self._converse(line)
        except (OSError, TimeoutError):
            line.writer.transport.abort()  # the client went, or took too long
        finally:
            line.writer.close()

    async def _converse(self, line: ClientConnection) -> None:
        """Answer request after request, as long as the client keeps the connection."""
        task = asyncio.current_task()
        assert task is not None, "every connection has a task"
        rest, goes_on = b"", True
        while goes_on:
            self._idle[task] = line
            try:
                received = await receive_request(line, rest)
            except BadRequest as bad:
                self._astray(bad.words)
                made = make_error_reply(bad.status, f"the server got {bad.words}", "a request of HTTP/1.1")
                await line.write(encode_head(made, "length", close=True) + made.chunks[0])
                return
            finally:
                self._idle.pop(task, None)
            if received is None:
                return
            goes_on = await self._answer(received, line)
            rest = received.rest

    async def _answer(self, received: ReceivedRequest, line: ClientConnection) -> bool:
        """Send the answer; return whether the connection can go on."""
        found = _PREFIX.match(received.target)
        id_ = unquote(found["id"]) if found else ""
        below = received.target[found.end() if found else 0 :] or "/"
        exchange = self._exchange(id_)
        if isinstance(exchange, str):
            self._astray(f"`{received.method} {received.target[:200]}`: {exchange}")
            made, over, gate, sent = _make_stray_reply(received, exchange), asyncio.Event(), None, None
        else:
            made = exchange.answer(received, below)
            over, gate, sent = exchange.over, exchange.gate_of(made), exchange.has_sent
            exchange.transports.add(line.writer.transport)
        if self._watch is not None:
            self._watch(id_, replace(received, target=below), made)
        try:
            return await send_reply(made, received, line, over, gate, sent)
        finally:
            if not isinstance(exchange, str):
                exchange.transports.discard(line.writer.transport)

    def _exchange(self, id_: str) -> TrialExchange | str:
        """Return what answers for the trial `id_`, or why nothing does."""
        if not id_:
            return "without the path of the base URL"
        if id_ in self._exchanges:
            return self._exchanges[id_]
        if self._find is None or id_.isdigit():
            return f"there is no trial `{id_[:200]}`, or it is over"
        found = self._find(id_)
        if isinstance(found, str):
            return found
        return TrialExchange(self.base_url(id_), found, None, self._time_scale)

    def base_url(self, id_: str) -> str:
        """Return the base URL of a trial."""
        return f"{self.url}/x/{id_}"

    def _astray(self, words: str) -> None:
        """Tell the trials that are on what came for none of them."""
        for each in self._exchanges.values():
            each.stray(words)


def _make_stray_reply(received: ReceivedRequest, why: str) -> Reply:
    """Return the answer to a request for no trial."""
    return make_error_reply(
        404, f"`{received.method} {received.target[:200]}`: {why}", _EXPECTED_PATH, note=why
    )
