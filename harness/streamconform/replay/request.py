"""One request, read from a connection within bounds. Whatever comes is a request or a `BadRequest`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final

import h11

MAX_BODY: Final = 32 * 1024 * 1024
"""Bytes of a request: what the largest context with images needs."""
_VERSIONS: Final = (b"1.0", b"1.1")
MAX_KEPT_BODY: Final = 1024 * 1024
"""Bytes of a request that are kept."""
_MAX_SHOWN_BODY: Final = 400
"""Bytes of a body that is no JSON that results show."""
_TLS_HANDSHAKE: Final = b"\x16\x03"
"""How a handshake begins: what comes is meant for `https`."""
PARTIAL_REQUEST: Final = "half a request"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """What a client may cost."""

    connections: int = 512
    """At once; where there are more, the one that waited longest for a request goes."""
    head_bytes: int = 64 * 1024
    request_seconds: float = 30.0
    """From the first byte of a request to its last."""
    idle_seconds: float = 120.0
    """Between two requests."""
    stall_seconds: float | None = 0.05
    """How long a stalled stream stays silent before it is closed; None: until the client goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """A request as it came. `target` is the path with its query; header names are lower-case."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    """Its first `KEPT_BODY` bytes."""
    size: int
    """Bytes of the whole body."""
    keep: bool
    """Whether the connection may go on."""
    chunked: bool
    """Whether the client understands chunks."""
    rest: bytes = b""
    """What came behind it."""

    def header(self, name: str) -> str:
        """Return the values of a header, joined."""
        return ", ".join(value for each, value in self.headers if each == name)

    @property
    def json(self) -> Any:
        """Return the value of the body; None where it is no JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def stream(self) -> Any:
        """Return the member `stream` of the body; None where it has none, or is no JSON object."""
        body = self.json
        return body.get("stream") if isinstance(body, dict) else None

    @property
    def as_built(self) -> dict[str, Any]:
        """Return it as functions that build requests do; a body that is no JSON as the text that it is."""
        value = self.json
        body = self.body[:_MAX_SHOWN_BODY].decode("utf-8", "backslashreplace") if value is None else value
        headers = {name: self.header(name) for name, _ in self.headers}
        return {"body": body, "headers": headers, "path": self.target}


@dataclass(slots=True, eq=False)
class ClientConnection:
    """The connection to a client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    bounds: ServerLimits
    half: bool = False
    """Whether a request has begun to come that has not ended."""

    async def write(self, data: bytes) -> None:
        """Write `data` in one piece and wait until the system has it; raises `OSError`."""
        self.writer.write(data)
        await self.writer.drain()
        await asyncio.sleep(0)  # `drain` lets nobody else run where there is nothing to wait for


class BadRequest(Exception):
    """What came is no request that can be answered; says with which status, and what it is."""

    def __init__(self, status: int, words: str) -> None:
        """Keep both."""
        super().__init__(words)
        self.status = status
        self.words = words


async def receive_request(line: ClientConnection, begun: bytes) -> ReceivedRequest | None:
    """Return the next request, None where the client went without one; raises `BadRequest`.

    `begun` are bytes that came behind the request before. Raises `TimeoutError` where it takes too long.
    """
    bounds = line.bounds
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=bounds.head_bytes)
    loop = asyncio.get_running_loop()
    request: h11.Request | None = None
    body = bytearray()
    size = 0
    data = begun
    line.half = bool(begun)
    if begun:
        connection.receive_data(begun)
    async with asyncio.timeout(bounds.request_seconds if begun else bounds.idle_seconds) as limit:
        while True:
            try:
                event = connection.next_event()
            except h11.RemoteProtocolError as error:
                raise BadRequest(error.error_status_hint, _describe_error(line, data, error)) from error
            match event:
                case h11.NEED_DATA:
                    if connection.they_are_waiting_for_100_continue and request is not None:
                        line.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                    data = await line.reader.read(65536)
                    if data and not line.half:
                        limit.reschedule(loop.time() + bounds.request_seconds)
                        line.half = True
                    connection.receive_data(data)
                case h11.Request():
                    if event.http_version not in _VERSIONS:
                        raise BadRequest(505, f"a request of HTTP/{event.http_version.decode()}")
                    request = event
                case h11.Data():
                    size += len(event.data)
                    body += event.data[: MAX_KEPT_BODY - len(body)]
                    if size > MAX_BODY:
                        raise BadRequest(413, f"a body of more than {MAX_BODY} bytes")
                case h11.EndOfMessage() if request is not None:
                    line.half = False
                    keep = connection.their_state is not h11.MUST_CLOSE
                    return _make_request(
                        request, bytes(body), size, keep=keep, rest=connection.trailing_data[0]
                    )
                case _:
                    return None


def _describe_error(line: ClientConnection, data: bytes, error: h11.RemoteProtocolError) -> str:
    """Return what it is that came, where `data` is the last of it."""
    if line.half and not data:
        return PARTIAL_REQUEST
    if data.startswith(_TLS_HANDSHAKE):
        return "a TLS handshake; the base URL begins with `http:`, keep it so"
    if error.error_status_hint == 431:
        return f"a head of more than {line.bounds.head_bytes} bytes"
    return f"what is no request of HTTP/1.1 ({str(error).partition(':')[0]})"


def _make_request(
    request: h11.Request, body: bytes, size: int, *, keep: bool, rest: bytes
) -> ReceivedRequest:
    return ReceivedRequest(
        method=request.method.decode("ascii", "replace"),
        target=request.target.decode("latin-1"),
        headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers),
        body=body,
        size=size,
        keep=keep,
        chunked=request.http_version >= b"1.1",
        rest=rest,
    )
