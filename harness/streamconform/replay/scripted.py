"""A trial about behavior: follow the script of each reply, and log what happens, in order.

Verdicts come from the log alone. A clock only ends waits in which nothing happens, so a slow client gets the
same verdict as a fast one.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from msgspec import structs

from streamconform.adapters.interface import ServerRecord
from streamconform.adapters.protocol import CONTINUE
from streamconform.apis import APIS
from streamconform.model.behavior import LogEntry, LogEvent, ScriptedReply, ScriptStep
from streamconform.model.case import BehaviorCase, Case
from streamconform.model.trial import Behavior
from streamconform.replay import reply as http_reply
from streamconform.replay.endpoints import match_request, require_opt_ins
from streamconform.replay.exchange import MAX_REQUESTS, TrialExchange
from streamconform.replay.request import ClientConnection, ReceivedRequest
from streamconform.replay.sending import reset_connection, send_reply
from streamconform.wire.framings import split

_PATIENCE: Final = 0.6
"""The share of a trial's time after which a wait ends in which nothing happened."""
_QUIET_SECONDS: Final = 1.0
"""How long nothing may happen before the server takes buffers for full, or the requests for all."""
_BLOCK: Final = 16 * 1024
"""The number of bytes to write at once to a client that does not read."""


@dataclass(slots=True, eq=False)
class ScriptedExchange(TrialExchange):
    """A trial about behavior in progress."""

    seconds: float = 10.0
    """The time for the trial."""
    log: list[LogEntry] = field(default_factory=list)
    connections: dict[ClientConnection, int] = field(default_factory=dict)
    """The number of each connection on which a request for an answer arrived, counted from 1."""
    has_answer: bool = False
    """Whether the adapter has answered."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced, whenever something happens."""
    _closed: set[int] = field(default_factory=set)
    may_continue: bool = False
    """Whether a client that pauses may read on."""

    @property
    def expected_requests(self) -> int:
        """Return the number of answers that the client is asked for."""
        return self._case.control.answers

    @property
    def cancels(self) -> bool:
        """Return whether the client cancels the task that reads."""
        return self._case.control.stop == "cancel"

    @property
    def has_paused(self) -> bool:
        """Return whether the client has stopped reading."""
        return any(entry.event == "paused" for entry in self.log)

    @property
    def _case(self) -> BehaviorCase:
        assert isinstance(self.trial, Behavior), "`ReplayServer.exchange` made this"
        return self.trial.case

    def note(
        self,
        event: LogEvent,
        connection: int | None = None,
        request: int | None = None,
        detail: str | int | None = None,
    ) -> None:
        """Append to the log."""
        self.log.append(LogEntry(event, connection, request, detail))
        self._wake()

    def note_answer(self) -> None:
        """Record that the adapter has answered."""
        self.has_answer = True
        self.note("answered")

    async def conclude(self) -> None:
        """Record which connections are still open."""
        for _ in range(3):  # the loop sees what the client has closed before it answered the barrier
            await asyncio.sleep(0)
        for connection, number in self.connections.items():
            if number not in self._closed:
                is_closed = connection.reader.at_eof() or connection.writer.transport.is_closing()
                self.note("closed" if is_closed else "open", number)

    def end(self) -> None:
        """End the trial: everything that waits goes on."""
        TrialExchange.end(self)
        self._wake()

    def summarize(self) -> ServerRecord:
        """Return everything about the exchange that the verdict may depend on."""
        return structs.replace(TrialExchange.summarize(self), log=tuple(self.log))

    async def serve(self, received: ReceivedRequest, target: str, connection: ClientConnection) -> bool:
        """Answer a request and return whether its connection can be reused. Raises `OSError`."""
        if target == CONTINUE:
            return await self._serve_continue(received, connection)
        request = replace(received, target=target, rest=b"")
        reply = self._case.find_reply(len(self.model_requests) + 1)
        stream = self._case.streams[reply.stream]
        refusal = self._refuse(received, target, stream)
        if refusal is not None:
            self.requests.append((request, refusal))
            return await send_reply(refusal, received, connection, self.ended)
        number = self.connections.setdefault(connection, len(self.connections) + 1)
        self.model_requests.append(request)
        sent = http_reply.Reply(
            status=reply.status or stream.cassette.status, headers={}, chunks=(), recorded=True
        )
        self.requests.append((request, sent))
        self.note("request", number, len(self.model_requests), digest_body(received))
        play = _Play(
            self, reply, stream, self._case.halves.get(reply.stream), number, len(self.model_requests)
        )
        return await play.run(received, connection)

    def _refuse(self, received: ReceivedRequest, target: str, stream: Case) -> http_reply.Reply | None:
        """Return the reply to a request that cannot have this stream, or None."""
        match = match_request(stream.cassette, received.method, target, received.stream)
        match = require_opt_ins(match, stream.cassette, received.json)
        if match.kind != "stream":
            message = match.mismatch or match.note or "the request does not ask for a stream"
            return http_reply.make_error_reply(
                400 if match.mismatch else 404,
                message,
                "a request for a stream",
                note=message,
                mismatch=match.mismatch,
            )
        if len(self.model_requests) >= MAX_REQUESTS + self.expected_requests:
            self.has_too_many = True
            # 404, because SDKs retry 429 and 5xx.
            return http_reply.make_error_reply(404, "too many requests for one trial", "fewer requests")
        return None

    async def _serve_continue(self, received: ReceivedRequest, connection: ClientConnection) -> bool:
        """Answer the adapter's own request when it may go on."""
        if self._case.control.pause is not None:
            self.note("paused")
            await self.wait_until(lambda: self.may_continue)
        else:
            await self.wait_until(lambda: bool(self.model_requests))
        return await send_reply(
            http_reply.Reply(status=200, headers={"content-type": "text/plain"}, chunks=(b"continue\n",)),
            received,
            connection,
            asyncio.Event(),
        )

    def let_continue(self) -> None:
        """Let a client that pauses read on."""
        self.may_continue = True
        self._wake()

    def note_closed(self, connection: int) -> None:
        """Record, once, that the client has closed a connection."""
        if connection not in self._closed:
            self._closed.add(connection)
            self.note("closed", connection)

    def is_closed(self, connection: int) -> bool:
        """Return whether the client has closed a connection."""
        return connection in self._closed

    def note_end(self, event: LogEvent, connection: int, request: int) -> None:
        """Record the end of an answer, and of its connection if that is not proper."""
        if event != "ended":
            self._closed.add(connection)
        self.note(event, connection, request)

    async def wait_until(self, is_over: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until `is_over`, the trial ends, or nothing has happened for `seconds`; return `is_over`."""
        limit = self.seconds * _PATIENCE if seconds is None else seconds
        while not is_over() and not self.ended.is_set():
            try:
                await asyncio.wait_for(self._changed.wait(), limit)
            except TimeoutError:
                break
        return is_over()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class _Play:
    """One reply on its connection."""

    def __init__(
        self,
        exchange: ScriptedExchange,
        reply: ScriptedReply,
        stream: Case,
        half: int | None,
        connection: int,
        request: int,
    ) -> None:
        self._exchange = exchange
        self._reply = reply
        self._stream = stream
        self._number = connection
        self._request = request
        self._chunks = _split_stream(stream)
        self._half = half or max(len(self._chunks) // 2, 1)
        self._sent = 0
        self._held = b""
        """A frame that is sent together with the end of the body."""

    async def run(self, received: ReceivedRequest, connection: ClientConnection) -> bool:
        """Follow the script; return whether the connection can be reused."""
        self._watcher = asyncio.create_task(self._watch(connection))
        try:
            if self._reply.answers:
                await connection.write(self._encode_head(received))
                if self._reply.status is not None:
                    self._exchange.note("status", self._number, self._request, self._reply.status)
            for step, following in zip_longest(self._reply.steps, self._reply.steps[1:]):
                if self._exchange.ended.is_set() or self._exchange.is_closed(self._number):
                    return False
                if await self._do(step, following, connection):
                    return step.name == "end" and received.keep
            await self._exchange.wait_until(
                lambda: self._exchange.is_closed(self._number), self._exchange.seconds
            )
        except OSError:
            self._exchange.note_closed(self._number)
        finally:
            await self._stop_watching()
        return False

    async def _stop_watching(self) -> None:
        self._watcher.cancel()
        await asyncio.gather(self._watcher, return_exceptions=True)

    def _encode_head(self, received: ReceivedRequest) -> bytes:
        cassette = self._stream.cassette
        # Only the script says when to send a request again; some recorded errors say minutes.
        recorded = {name: value for name, value in cassette.headers.items() if name != "retry-after"}
        headers = {name: value for name, value in ({**recorded, **self._reply.headers}).items() if value}
        head = http_reply.Reply(
            status=self._reply.status or cassette.status, headers=headers, chunks=(), transfer="chunked"
        )
        return http_reply.encode_head(head, "chunked", close=not received.keep)

    async def _watch(self, connection: ClientConnection) -> None:
        """Record what the client does meanwhile: nothing else would see that it closes its connection."""
        with contextlib.suppress(OSError):
            while data := await connection.reader.read(65536):
                self._exchange.note("data", self._number, self._request, len(data))
        self._exchange.note_closed(self._number)

    async def _do(self, step: ScriptStep, following: ScriptStep | None, connection: ClientConnection) -> bool:
        """Do one step and return whether it is the last one."""
        match step.name:
            case "send":
                is_last = following is not None and following.name == "end"
                await self._send(self._resolve(step.amount), connection, is_last=is_last)
            case "flood":
                assert isinstance(step.amount, int), "the schema allows nothing else"
                await self._flood(step.amount, connection)
            case "wait":
                await self._wait(step.amount, connection)
            case "end":
                await self._stop_watching()  # what follows the end is the next request
                await connection.write(self._held + http_reply.LAST_CHUNK)
                self._exchange.note_end("ended", self._number, self._request)
                return True
            case "close":
                self._exchange.note_end("cut", self._number, self._request)
                connection.writer.close()
                return True
            case "reset":
                await reset_connection(connection, self._exchange.ended)
                self._exchange.note_end("reset", self._number, self._request)
                return True
        return False

    def _resolve(self, amount: object) -> int:
        """Return the number of frames up to which to send."""
        match amount:
            case int(count):
                return min(count, len(self._chunks))
            case "half":
                return self._half
            case "all-but-last":
                return len(self._chunks) - 1
            case _:
                return len(self._chunks)

    async def _send(self, end: int, connection: ClientConnection, *, is_last: bool = False) -> None:
        """Send the frames up to `end`, one per write, so that the streams of several requests interleave.

        If the reading task will be cancelled, they are one write. Whether the frame after the one at which it
        is cancelled has already arrived then depends on the script, not on the machine's speed: before Python
        3.12, `asyncio.wait_for` forgets the cancellation if it has.

        The last frame of a body goes out with its end: for a client that stops reading at the terminal event,
        the connection is then free each time, or never.
        """
        at_once = self._exchange.cancels
        while self._sent < end and not self._exchange.is_closed(self._number):
            upto = end if at_once else self._sent + 1
            *chunks, last = (http_reply.encode_chunk(c, "chunked") for c in self._chunks[self._sent : upto])
            self._sent = upto
            if is_last and upto == end:
                self._held = last
            else:
                chunks.append(last)
            if chunks:
                await connection.write(b"".join(chunks))
        self._exchange.note("sent", self._number, self._request, self._sent)

    async def _wait(self, what: object, connection: ClientConnection) -> None:
        exchange, number = self._exchange, self._number
        match what:
            case "answer":
                is_over = await exchange.wait_until(lambda: exchange.has_answer or exchange.is_closed(number))
                if is_over and not exchange.is_closed(number):
                    # The adapter has answered; its client may close the connection later, such as a thread
                    # that only the next frame wakes.
                    if self._reply.answers:
                        await self._send(self._sent + 1, connection)
                    await exchange.wait_until(lambda: exchange.is_closed(number), exchange.seconds * 10)
            case "requests":
                count = exchange.expected_requests
                is_over = await exchange.wait_until(
                    lambda: len(exchange.model_requests) >= count, _QUIET_SECONDS
                )
            case _:
                is_over = await exchange.wait_until(
                    lambda: exchange.has_paused or exchange.has_answer or exchange.is_closed(number)
                )
        if not is_over:
            exchange.note("waited", number, self._request)

    async def _flood(self, size: int, connection: ClientConnection) -> None:
        """Repeat the last frame until the client takes no more, or `size` bytes are out; then let it read on.

        What a client has not taken by then is not sent, so that a slow one soon comes to the end.
        """
        exchange = self._exchange
        sock: socket.socket = connection.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BLOCK)
        frame = http_reply.encode_chunk(self._chunks[self._sent - 1], "chunked")
        block = frame * max(_BLOCK // len(frame), 1)
        taken = 0
        try:
            while taken < size and not exchange.is_closed(self._number) and not exchange.ended.is_set():
                writing = asyncio.ensure_future(connection.write(block))
                done, _ = await asyncio.wait({writing}, timeout=_QUIET_SECONDS)
                if not done:
                    exchange.note("full", self._number, self._request, taken)
                    exchange.let_continue()
                    await writing
                    return
                writing.result()
                taken += len(block)
            if taken >= size:
                exchange.note("accepted", self._number, self._request, taken)
        finally:
            exchange.let_continue()


def _split_stream(stream: Case) -> tuple[bytes, ...]:
    """Return one chunk per frame; a document is one chunk."""
    body = stream.cassette.body
    ends = [frame.end for frame in split(APIS[stream.api].detect_framing(stream.cassette.status, body), body)]
    if not ends:
        return (body,) if body else ()
    ends[-1] = len(body)
    return tuple(body[start:end] for start, end in zip([0, *ends], ends, strict=False))


def digest_body(received: ReceivedRequest) -> str:
    """Return a short digest of a request's JSON, which is the same for a retry."""
    content = (
        json.dumps(received.json, sort_keys=True).encode() if received.json is not None else received.body
    )
    return hashlib.sha256(content).hexdigest()[:12]
