"""A client on a bare socket: it sends and receives bytes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from streamconform.model.trial import Trial
from streamconform.replay.request import ServerLimits
from streamconform.replay.server import HOST, ReplayServer

from ..harness import builders

BODY = b'{"stream":true}'
CHUNKS = tuple(frame + b"\n\n" for frame in builders.case().cassette.body.split(b"\n\n") if frame)
SECONDS = 10


def trial(delivery: str = "as-is", chunks: tuple[bytes, ...] = CHUNKS, **of) -> Trial:
    return builders.trial(builders.case(**of), chunks, delivery=delivery)


def post(path: str, body: bytes = BODY, *, version: str = "1.1", headers: str = "") -> bytes:
    head = f"POST {path} HTTP/{version}\r\nhost: x\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


@dataclass
class Got:
    """All data received on a connection, and how it ended: `eof`, `reset` or `open`."""

    data: bytes
    end: str

    @property
    def head(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[0].lower()

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]

    @property
    def status(self) -> int:
        return int(self.data.split(b" ", 2)[1])

    @property
    def chunks(self) -> list[bytes]:
        """The chunks of a chunked body, including the empty last one if it arrived."""
        found, rest = [], self.body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            found.append(rest[: int(size, 16)])
            rest = rest[int(size, 16) + 2 :]
        return found


async def connect(server: ReplayServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(HOST, int(server.url.rpartition(":")[2]))


async def read(reader: asyncio.StreamReader, until: bytes | None = None) -> Got:
    """Read until `until` arrives, or to the end."""
    data = b""
    try:
        async with asyncio.timeout(SECONDS):
            while until is None or until not in data:
                more = await reader.read(65536)
                if not more:
                    return Got(data, "eof")
                data += more
    except ConnectionError:
        return Got(data, "reset")
    return Got(data, "open")


async def send_and_read(server: ReplayServer, sent: bytes, until: bytes | None = None) -> Got:
    """Send bytes on a new connection, and read the answer."""
    reader, writer = await connect(server)
    try:
        writer.write(sent)
        return await read(reader, until)
    finally:
        writer.transport.abort()


def answer(of: Trial, path: str = "/v1/messages", body: bytes = BODY, *, until: bytes | None = None, **more):
    """Return a server's answer for a trial, and the state of the exchange at that time."""

    async def serve():
        async with ReplayServer(bounds=ServerLimits(stall_seconds=0.05)) as server:
            with server.exchange(of) as exchange:
                prefix = exchange.base_url.removeprefix(server.url)
                return await send_and_read(server, post(prefix + path, body, **more), until), exchange

    return asyncio.run(serve())
