"""Read one request from a connection, within limits; anything else raises `BadRequest`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final

import h11

from streamconform.model.cassette import Transport

MAX_BODY: Final = 32 * 1024 * 1024
"""The maximum size of a request body in bytes: enough for a full context with images."""
_VERSIONS: Final = (b"1.0", b"1.1")
MAX_KEPT_BODY: Final = 8 * 1024 * 1024
"""The number of bytes to keep from a request body: enough for a large image. Larger bodies are not judged."""
_MAX_SHOWN_BODY: Final = 400
"""The maximum number of bytes of a non-JSON body to show in results."""
_TLS_HANDSHAKE: Final = b"\x16\x03"
"""The first bytes of a TLS handshake, which mean that the client uses `https`."""
PARTIAL_REQUEST: Final = "half a request"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Limits on the resources that clients may use."""

    connections: int = 512
    """The maximum number of open connections; if exceeded, the one that has been idle longest is closed."""
    head_bytes: int = 64 * 1024
    request_seconds: float = 30.0
    """The maximum time from the first to the last byte of a request."""
    idle_seconds: float = 120.0
    """The maximum time between two requests."""
    stall_seconds: float | None = 0.05
    """How long a stalled stream stays silent before it is closed; None means until the client closes it.

    Real stalls are longer, but a suite has thousands of trials.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """A request as received. `target` is the path with its query; header names are lower-case."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    """The first `MAX_KEPT_BODY` bytes."""
    size: int
    """Size of the whole body in bytes."""
    keep: bool
    """Whether the connection can be reused."""
    chunked: bool
    """Whether the client understands the chunked transfer coding."""
    rest: bytes = b""
    """The bytes received after the request."""
    transport: Transport = "http"
    """`websocket` for a message of the client; all but the body is then that of the handshake."""

    def header(self, name: str) -> str:
        """Return the values of a header, joined."""
        return ", ".join(value for header, value in self.headers if header == name)

    @property
    def is_cut(self) -> bool:
        """Return whether the body was larger than the part that is kept, so that it cannot be decoded."""
        return self.size > len(self.body)

    @property
    def json(self) -> Any:
        """Return the decoded body, or None if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def stream(self) -> Any:
        """Return the body's `stream` member, or None if it has none or is not an object."""
        if self.transport == "websocket":
            return True  # every answer is a stream
        body = self.json
        return body.get("stream") if isinstance(body, dict) else None

    @property
    def is_handshake(self) -> bool:
        """Return whether the client asks for a WebSocket."""
        return self.method == "GET" and self.header("upgrade").lower() == "websocket"

    @property
    def as_built(self) -> dict[str, Any]:
        """Return the request in the form that `build_request` returns; a non-JSON body becomes text."""
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
    is_mid_request: bool = False
    """Whether a request has begun to arrive but has not ended."""

    async def write(self, data: bytes) -> None:
        """Write `data` in one call and wait until the operating system has accepted it. Raises `OSError`."""
        self.writer.write(data)
        await self.writer.drain()
        await asyncio.sleep(0)  # `drain` does not yield to other tasks if the buffer is empty


class BadRequest(Exception):
    """The bytes received do not form a request that can be answered."""

    def __init__(self, status: int, description: str) -> None:
        """Store the status code for the reply, and a description of the received bytes."""
        super().__init__(description)
        self.status = status
        self.description = description


async def receive_request(connection: ClientConnection, pending: bytes) -> ReceivedRequest | None:
    """Return the next request, or None if the client closed the connection without one.

    `pending` are the bytes received after the previous request. Raises `BadRequest`, and `TimeoutError` if
    the client takes too long.
    """
    bounds = connection.bounds
    # One h11 connection per request: h11 can reuse one only if it also writes the replies, and `reply` says
    # why it does not.
    protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=bounds.head_bytes)
    request: h11.Request | None = None
    body = bytearray()
    size = 0
    data = pending
    connection.is_mid_request = bool(pending)
    if pending:
        protocol.receive_data(pending)
    async with asyncio.timeout(bounds.request_seconds if pending else bounds.idle_seconds) as limit:
        while True:
            try:
                event = protocol.next_event()
            except h11.RemoteProtocolError as error:
                raise BadRequest(error.error_status_hint, _describe_error(connection, data, error)) from error
            match event:
                case h11.NEED_DATA:
                    if request is not None and protocol.they_are_waiting_for_100_continue:
                        # Some clients, such as curl, send a large body only after this response.
                        connection.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                    data = await _read(connection, limit)
                    protocol.receive_data(data)
                case h11.Request():
                    if event.http_version not in _VERSIONS:
                        raise BadRequest(505, f"a request in HTTP/{event.http_version.decode()}")
                    request = event
                case h11.Data():
                    size += len(event.data)
                    body += event.data[: MAX_KEPT_BODY - len(body)]
                    if size > MAX_BODY:
                        raise BadRequest(413, f"a body of more than {MAX_BODY} bytes")
                case h11.EndOfMessage() if request is not None:
                    connection.is_mid_request = False
                    keep = protocol.their_state is not h11.MUST_CLOSE
                    return _make_request(
                        request, bytes(body), size, keep=keep, rest=protocol.trailing_data[0]
                    )
                case _:
                    return None


async def _read(connection: ClientConnection, limit: asyncio.Timeout) -> bytes:
    """Return the next bytes; the first ones end the idle time and start the time limit for the request."""
    data = await connection.reader.read(65536)
    if data and not connection.is_mid_request:
        limit.reschedule(asyncio.get_running_loop().time() + connection.bounds.request_seconds)
        connection.is_mid_request = True
    return data


def _describe_error(connection: ClientConnection, data: bytes, error: h11.RemoteProtocolError) -> str:
    """Describe what was received; `data` is the last part of it."""
    if connection.is_mid_request and not data:
        return PARTIAL_REQUEST
    if data.startswith(_TLS_HANDSHAKE):
        return "a TLS handshake; the base URL begins with `http:`, and must not be changed"
    if error.error_status_hint == 431:
        return f"headers of more than {connection.bounds.head_bytes} bytes"
    return f"something that is not an HTTP/1.1 request ({str(error).partition(':')[0]})"


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
