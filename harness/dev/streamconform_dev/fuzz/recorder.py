"""Hostile clients and servers of `conform record listen`, on real sockets in one process.

A legal answer in any of HTTP's forms must reach the client and the recording unchanged, or the recording must
say that it was cut. Whatever the bytes, each forwarded request is recorded once, and the answers and bytes
that arrived are those in the recordings.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import h11

from streamconform.suite import cassettes
from streamconform_capture.record.exchange import Origin
from streamconform_capture.record.listen import RecordingProxy, Upstream
from streamconform_capture.record.listened import KeptExchange, ListenSettings, keep_exchange
from streamconform_capture.record.overheard import Overheard
from streamconform_dev.fuzz.damage import Ending, Loss, cut_bytes, damage_bytes
from streamconform_dev.fuzz.streams import Stream, choose_streams
from streamconform_dev.fuzz.target import Target

PATIENCE: Final = 0.05
"""The time after which a client that got no whole answer gives up, in seconds."""
RESET: Final = struct.pack("ii", 1, 0)
End = Literal["close", "reset", "stay"]
"""What a peer does after its last byte; one that stays waits until the other side closes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The bytes that a client and a server send, each in pieces, and how they end."""

    request: tuple[bytes, ...]
    answer: tuple[bytes, ...]
    end: End = "stay"
    """What the server does."""
    leaves: bool = False
    """Whether the client ends its side at once, instead of waiting for the answer."""
    body: bytes | None = None
    """The body of the answer; None if the bytes are damaged, so that it is not known."""
    is_whole: bool = False
    """Whether the answer is whole."""
    is_saved: bool = False
    """Whether the recording is written too, which takes most of the time."""


def make_answer(rng: random.Random) -> Exchange:
    """Return a request and a legal answer, whole or cut."""
    (stream,) = choose_streams(rng, 1)
    status = rng.choice((200, 200, 200, 201, 206, 400, 429, 500, 503, 302, 204, 304))
    body = b"" if status in (204, 304) else rng.choice((stream.body, stream.body, b"", b"{}"))
    framing, framed = rng.choice(FRAMINGS)(body, rng) if status not in (204, 304) else ("", b"")
    head = f"HTTP/1.{rng.choice('1110')} {status} {rng.choice(('OK', '', 'x y'))}\r\n"
    if framing.startswith("Transfer"):
        head = head.replace("HTTP/1.0", "HTTP/1.1")
    fields = [
        f"Content-Type: {stream.media_type}",
        *filter(None, framing.split("\n")),
        *rng.sample(FIELDS, 2),
    ]
    rng.shuffle(fields)
    before = rng.choice(
        (b"", b"", b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n")
    )
    data = before + head.encode() + "".join(f"{each}\r\n" for each in fields).encode() + b"\r\n"
    until_close = not framing and status not in (204, 304)
    start = len(data)
    end: End = rng.choice(("close", "reset"))
    data += framed
    is_cut = rng.random() < 0.3
    if is_cut:
        data = data[: rng.randrange(len(data))]
        # The end of the connection ends the body, wherever the server meant to end it.
        body = data[start:] if until_close else body
    is_whole = not is_cut or (until_close and len(data) >= start)
    if is_whole:
        end = "close" if until_close else rng.choice(("close", "stay"))
    return Exchange(
        request=_split(_make_request(stream), rng), answer=_split(data, rng), end=end, body=body,
        is_whole=is_whole, is_saved=rng.random() < 0.05,
    )  # fmt: skip


def _frame_with_length(body: bytes, rng: random.Random) -> tuple[str, bytes]:
    return rng.choice((f"Content-Length: {len(body)}", f"content-length:{len(body)}")), body


def _frame_in_chunks(body: bytes, rng: random.Random) -> tuple[str, bytes]:
    parts = [part for part in _split(body, rng) if part]
    mark = rng.choice((b"", b"", b";a=b"))
    chunks = [b"%x%b\r\n%b\r\n" % (len(part), mark, part) for part in parts]
    end = rng.choice((b"0\r\n\r\n", b"0\r\n\r\n", b"00\r\nX-Trailer: a\r\n\r\n"))
    length = rng.choice(("", "", f"\nContent-Length: {rng.randrange(100)}"))
    return f"Transfer-Encoding: {rng.choice(('chunked', 'Chunked'))}{length}", b"".join(chunks) + end


def _frame_until_close(body: bytes, rng: random.Random) -> tuple[str, bytes]:
    del rng
    return "", body


FRAMINGS: Final = (_frame_with_length, _frame_in_chunks, _frame_in_chunks, _frame_until_close)
FIELDS: Final = (
    "Connection: keep-alive", "Connection: close, X-Gone", "X-Gone: 1", "Set-Cookie: a=b", "Server: \xe9",
    "X: ", "Keep-Alive: timeout=5", "Trailer: X-Trailer", "request-id: r\t1", "Date: never",
    "Content-Language: x", "Vary: *",
)  # fmt: skip


def make_damaged_answer(rng: random.Random) -> Exchange:
    """Return a request, and an answer with damaged bytes."""
    made = make_answer(rng)
    damage = rng.choice((damage_bytes, damage_bytes, damage_bytes, cut_bytes))
    is_other = rng.random() < 0.1
    answer = rng.choice(GARBAGE) if is_other else damage(b"".join(made.answer), rng)
    end: End = rng.choice(("close", "reset", "stay"))
    return Exchange(request=made.request, answer=_split(answer, rng), end=end, is_saved=made.is_saved)


GARBAGE: Final = (
    b"", b"\x16\x03\x01\x02\x00\x01\x00", b"HTTP/1.1 101 Switching Protocols\r\n\r\n", b"HTTP/2 200\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 12_000 + b"\r\n", b"HTTP/1.1 200 " + b"x" * 70_000,
    b"\r\n" * 50_000, b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"HTTP/1.1 99 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 30_000 + b"0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 30 + b"\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 70_000,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 12_000 + b"\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000, b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\nx",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: \xff\r\nContent-Length: 1\r\n\r\nx",
)  # fmt: skip
"""Answers of other kinds than damage makes."""


def make_damaged_request(rng: random.Random) -> Exchange:
    """Return a request with damaged bytes, or in another form than clients of models use."""
    made = make_answer(rng)
    data = b"".join(made.request)
    line, _, rest = data.partition(b"\r\n")
    match rng.randrange(6):
        case 0:
            data = rng.choice(LINES) + b"\r\n" + rest
        case 1:
            data = line + b"\r\n" + rng.choice(HEADERS) + b"\r\n" + rest
        case 2:
            data = data * 2 + rng.choice((b"", b"x" * 70_000))
        case 3:
            data = cut_bytes(data, rng)
        case _:
            data = damage_bytes(data, rng)
    leaves = rng.random() < 0.5
    return Exchange(
        request=_split(data, rng), answer=made.answer, end="close", leaves=leaves, is_saved=made.is_saved
    )


LINES: Final = (
    b"GET / HTTP/1.1", b"POST http://127.0.0.1/v1/messages HTTP/1.1", b"CONNECT a:443 HTTP/1.1",
    b"OPTIONS * HTTP/1.1", b"POST //other/v1/messages HTTP/1.1", b"POST /../v1/messages?key=%ff#x HTTP/1.1",
    b"HEAD /v1/messages HTTP/1.1", b"POST /v1/messages HTTP/1.0", b"POST /v1/messages HTTP/9.9",
    b"POST /" + b"x" * 70_000 + b" HTTP/1.1", b"POST /x", b"POST /v1/%00%ff%e2%80%ae/messages HTTP/1.1",
    b"POST /v1/messages?a=b&a=\x7f HTTP/1.1", b"PRI * HTTP/2.0", b"",
    b"POST /model/\xff/converse-stream HTTP/1.1", b"DELETE /v1/messages HTTP/1.1", b"P\xc3\x96ST / HTTP/1.1",
)  # fmt: skip
HEADERS: Final = (
    b"Transfer-Encoding: chunked", b"Content-Length: 5", b"Content-Length: +5",
    b"Content-Length: 99999999999999999999", b"Expect: 100-continue", b"Host: other", b"Host: 127.0.0.1",
    b"Origin: http://evil.example", b"Origin: null", b"Upgrade: websocket\r\nConnection: upgrade", b" folded",
    b"X : y", b"X: \xff\xfe", b"X: " + b"y" * 70_000, b"Authorization: Bearer \xff",
    b"x-api-key: " + b"k" * 300, b"Connection: x-api-key, host", b"X:y\r\n" * 20_000 + b"Z: ",
    b"Cookie: a=b; c", b"Content-Encoding: gzip", b"TE: trailers", b"Transfer-Encoding: gzip, chunked",
    b"Content-Length: 0",
)  # fmt: skip


def _make_request(stream: Stream) -> bytes:
    body = stream.request.encode()
    return (
        b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-api-key: of-a-client\r\n"
        b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (stream.path.encode(), len(body), body)
    )


def _split(data: bytes, rng: random.Random) -> tuple[bytes, ...]:
    """Return `data` in up to four pieces."""
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 0, 1, 3))))
    return tuple(data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True))


@dataclass(slots=True)
class _Stage:
    """A recorder and a server that live as long as the process, and what happens in one exchange."""

    runner: asyncio.Runner
    exchange: Exchange | None = None
    proxy: RecordingProxy | None = None
    server: asyncio.Server | None = None
    kept: list[Overheard] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    def follow(self, loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> asyncio.Task[Any]:
        """Return the task of a coroutine, whose exception would otherwise only be logged."""
        task = asyncio.Task(work, loop=loop, **more)
        self.tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.errors.append(error)

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(
            lambda _, context: self.errors.append(context.get("exception") or Loss(context["message"]))
        )
        loop.set_task_factory(self.follow)
        self.server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        self.proxy = RecordingProxy(Upstream(url), self.kept.append)
        await self.proxy.__aenter__()

    async def stop(self) -> None:
        """Stop listening."""
        assert self.proxy is not None, "it has started"
        assert self.server is not None, "it has started"
        await self.proxy.__aexit__()
        self.server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send the answer of the exchange."""
        exchange = self.exchange
        assert exchange is not None, "no client comes without one"
        with suppress(ConnectionError):
            # A server that closes with unread bytes resets the connection.
            await _read_request(reader)
            for piece in exchange.answer:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            if exchange.end == "reset":
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            elif exchange.end == "stay":
                await reader.read()
        writer.close()

    async def play(self, exchange: Exchange) -> bytes:
        """Return what the client gets."""
        self.exchange = exchange
        assert self.proxy is not None, "it has started"
        host, port = self.proxy.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        got = b""
        with suppress(ConnectionError):
            for piece in exchange.request:
                writer.write(piece)
                await writer.drain()
            if exchange.leaves:
                writer.write_eof()
            if exchange.body is not None:
                got = await reader.read(-1)
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(PATIENCE):
                        got = await reader.read(-1)
        writer.transport.abort()
        # The tasks of both sides, and those that they start.
        while left := self.tasks - {asyncio.current_task()}:
            await asyncio.wait(left)
        return got


async def _read_request(reader: asyncio.StreamReader) -> None:
    connection = h11.Connection(h11.SERVER)
    with suppress(h11.RemoteProtocolError):
        while not isinstance(event := connection.next_event(), h11.EndOfMessage | h11.ConnectionClosed):
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(65_536))


def close_stage() -> None:
    """Close the recorder of this process, if there is one."""
    if open_stage.cache_info().currsize:
        stage = open_stage()
        stage.runner.run(stage.stop())
        stage.runner.close()
        open_stage.cache_clear()


@cache
def open_stage() -> _Stage:
    """Return the recorder and the server of this process."""
    stage = _Stage(asyncio.Runner())
    stage.runner.run(stage.start())
    return stage


def check_exchange(exchange: Exchange, folder: Path) -> Ending:
    """Let a client and a server have an exchange. Raises for everything that must not happen."""
    stage = open_stage()
    assert stage.proxy is not None, "it has started"
    received = stage.proxy.received
    before = received.answers, received.bytes
    stage.kept.clear()
    got = stage.runner.run(stage.play(exchange))
    if stage.errors:
        error = stage.errors[0]
        stage.errors.clear()
        raise error
    answers = [kept for kept in stage.kept if kept.status is not None]
    arrived = len(answers), sum(kept.received for kept in answers)
    if arrived != (received.answers - before[0], received.bytes - before[1]):
        raise Loss(f"{received} is not what was recorded: {arrived}")
    for kept in stage.kept:
        _check_recording(kept)
    if exchange.body is not None:
        _check_legal(exchange, stage.kept, got)
    if exchange.is_saved:
        _check_saved(stage.kept, folder)
    if not answers:
        return Ending.REFUSED
    return Ending.WHOLE if all(kept.is_whole for kept in stage.kept) else Ending.PART


def _check_recording(kept: Overheard) -> None:
    if kept.status is not None and not kept.is_whole and kept.cut is None:
        raise Loss("an answer is neither whole nor cut")
    if kept.received != len(kept.body) and kept.cut != "too_large":
        raise Loss(f"{kept.received} bytes arrived, {len(kept.body)} are recorded")
    offsets = [mark.offset for mark in kept.marks]
    if offsets != sorted({*offsets}) or (offsets and not 0 <= offsets[-1] < len(kept.body)):
        raise Loss("the chunks do not divide the body")


def _check_legal(exchange: Exchange, recorded: list[Overheard], got: bytes) -> None:
    """Raise `Loss` unless a legal answer is recorded and forwarded as it was sent."""
    if len(recorded) != 1:
        raise Loss(f"{len(recorded)} recordings of one request")
    (kept,) = recorded
    assert exchange.body is not None, "the answer is legal"
    if kept.is_whole != exchange.is_whole or (kept.cut is None) != (exchange.is_whole or kept.status is None):
        raise Loss(
            f"the answer is {'whole' if exchange.is_whole else 'cut'}, the recording {kept.cut or 'whole'}"
        )
    if (exchange.is_whole and kept.body != exchange.body) or not exchange.body.startswith(kept.body):
        raise Loss(f"the answer has {len(exchange.body)} bytes, the recording {len(kept.body)}")
    if kept.status is not None and not kept.failure:
        body, is_whole = _parse_answer(got)
        if body != kept.body if exchange.end != "reset" else not kept.body.startswith(body):
            raise Loss(f"the client got {len(body)} bytes, {len(kept.body)} are recorded")
        if is_whole != kept.is_whole:
            raise Loss(f"the client's answer is {'whole' if is_whole else 'cut'}, unlike the recording")


def _parse_answer(data: bytes) -> tuple[bytes, bool]:
    """Return the body of an answer, and whether it is whole."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="POST", target="/", headers=[("host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(data)
    client.receive_data(b"")
    body = b""
    with suppress(h11.RemoteProtocolError):
        while not isinstance(event := client.next_event(), h11.EndOfMessage | h11.ConnectionClosed):
            body += bytes(event.data) if isinstance(event, h11.Data) else b""
        return body, isinstance(event, h11.EndOfMessage)
    return body, False


def _check_saved(recorded: list[Overheard], folder: Path) -> None:
    """Raise `Loss` unless an exchange is written as it was recorded, or refused with a reason."""
    home = folder / "saved"
    settings = ListenSettings(
        specs=home / "specs", folder=home / "cassettes", name="a", topic="b", origin=Origin(date="2026-01-01")
    )  # fmt: skip
    try:
        for kept in recorded:
            saved = keep_exchange(kept, settings, {})
            if not isinstance(saved, KeptExchange):
                continue
            loaded = cassettes.load(settings.folder, saved.cassette.api, saved.cassette.name)
            if len(loaded.body) != len(kept.body):
                raise Loss(f"{len(kept.body)} bytes are recorded, {len(loaded.body)} saved")
    finally:
        shutil.rmtree(home, ignore_errors=True)


TARGETS: Final = tuple(
    Target(name, make, check_exchange, share)
    for name, make, share in (
        ("record a legal answer", make_answer, 3),
        ("record a damaged answer", make_damaged_answer, 2),
        ("record a damaged request", make_damaged_request, 2),
    )
)
