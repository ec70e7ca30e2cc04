"""Record answers of a live server over a WebSocket: the frames that it sends, as they are."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import httpx
from wsproto import ConnectionType, WSConnection
from wsproto.connection import Connection
from wsproto.events import CloseConnection, Ping, RejectConnection, RejectData, Request, TextMessage
from wsproto.utilities import RemoteProtocolError

from streamconform.model.cassette import SWITCHED
from streamconform_capture.record.errors import CannotConnect, NoResponse
from streamconform_capture.record.live import (
    MAX_BYTES,
    Cut,
    RawRecording,
    check_headers,
    hide_secrets,
    parse_address,
)
from streamconform_capture.record.message_reader import MessageReader

WriteNext = Callable[[Sequence[bytes]], str | None]
"""Returns the next message, given the frames of the answers so far; None after the last one."""
PING: Final = b"still there?"
MAX_HEAD: Final = 64 * 1024
READ_SIZE: Final = 64 * 1024
END_SECONDS: Final = 5.0
"""The time that a server has to answer a ping, and again to answer the close frame."""


def record_socket(
    base_url: str,
    path: str,
    headers: Mapping[str, str],
    write_next: WriteNext,
    is_end: Callable[[bytes], bool],
    *,
    secret_headers: Mapping[str, str],
    timeout: float,
    max_bytes: int = MAX_BYTES,
) -> tuple[RawRecording, ...]:
    """Send messages on one connection, and return the recorded answers; those of an early end are left out.

    An answer's body has the frames up to the message that `is_end`. After the last one come the pong for a
    ping, if the connection is still open, and the end of the connection. If the server refuses the handshake,
    the only answer is that of HTTP.

    Raises what `live.record` raises.
    """
    url, where = parse_address(base_url, path, ("ws", "wss"))
    hidden = check_headers(secret_headers, where)
    conversation = _Conversation(url, where, check_headers(headers, where) | hidden, is_end, max_bytes)
    asyncio.run(conversation.hold(write_next, timeout))
    return tuple(hide_secrets(answer, hidden) for answer in conversation.answers)


@dataclass(slots=True, eq=False)
class _Conversation:
    """A connection, and the answers on it so far."""

    url: httpx.URL
    where: str
    headers: Mapping[str, str]
    is_end: Callable[[bytes], bool]
    max_bytes: int
    answers: list[RawRecording] = field(default_factory=list)
    _body: bytearray = field(default_factory=bytearray)
    """The frames of the current answer."""
    _message: str = ""
    _head: Mapping[str, str] = field(default_factory=dict)
    _writes: Connection = field(default_factory=lambda: Connection(ConnectionType.CLIENT))
    _reads: MessageReader = field(default_factory=lambda: MessageReader(ConnectionType.CLIENT))

    async def hold(self, write_next: WriteNext, seconds: float) -> None:
        """Hold the conversation. Raises `CannotConnect` and `NoResponse`."""
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(deadline):
                tls = ssl.create_default_context() if self.url.scheme == "wss" else None
                port = self.url.port or (443 if tls else 80)
                reader, writer = await asyncio.open_connection(self.url.host, port, ssl=tls)
        except TimeoutError as error:
            raise CannotConnect(self.where, f"no connection within {seconds:g} s") from error
        except OSError as error:
            raise CannotConnect(self.where, error.strerror or str(error)) from error
        try:
            await self._shake_hands(reader, writer, deadline, seconds)
            while not self.answers or self.answers[-1].status == SWITCHED:
                message = write_next([answer.body for answer in self.answers])
                if message is None:
                    await self._end(reader, writer)
                    return
                cut = await self._ask(message, reader, writer, deadline)
                self._keep(cut)
                if cut is not None:
                    return
        finally:
            writer.transport.abort()

    async def _shake_hands(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, deadline: float, seconds: float
    ) -> None:
        protocol = WSConnection(ConnectionType.CLIENT)
        headers = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        host = self.url.netloc.decode("ascii")
        target = self.url.raw_path.decode("ascii")
        try:
            async with asyncio.timeout_at(deadline):
                writer.write(protocol.send(Request(host=host, target=target, extra_headers=headers)))
                head, rest = await _read_head(reader)
                protocol.receive_data(head)
                events = [*protocol.events()]
                if isinstance(events[0], RejectConnection):
                    await self._keep_refusal(events[0], protocol, reader, rest)
                    return
        except TimeoutError as error:
            why = f"nothing received within {seconds:g} s"
            raise NoResponse(self.where, why, timed_out=True) from error
        except (OSError, RemoteProtocolError, IndexError) as error:
            raise NoResponse(self.where, str(error) or "the connection ended in the handshake") from error
        self._head = _read_headers(head)
        self._hear(rest)

    async def _keep_refusal(
        self,
        refusal: RejectConnection,
        protocol: WSConnection,
        reader: asyncio.StreamReader,
        rest: bytes,
    ) -> None:
        """Keep the answer of HTTP to a handshake that the server refuses."""
        body, is_whole = bytearray(), not refusal.has_body
        while not is_whole and len(body) < MAX_HEAD:
            data = rest or await reader.read(READ_SIZE)
            protocol.receive_data(data or None)
            parts = [event for event in protocol.events() if isinstance(event, RejectData)]
            body += b"".join(part.data for part in parts)
            is_whole = not data or any(part.body_finished for part in parts)
            rest = b""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in refusal.headers}
        self.answers.append(self._make_answer(refusal.status_code, headers, bytes(body), None))

    async def _ask(
        self, message: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, deadline: float
    ) -> Cut | None:
        """Send a message and read its answer; return why the answer is incomplete, or None."""
        self._message = message
        try:
            async with asyncio.timeout_at(deadline):
                writer.write(self._writes.send(TextMessage(data=message)))
                while self._reads.close is None:
                    data = await reader.read(READ_SIZE)
                    if self._hear(data):
                        return None
                    if len(self._body) > self.max_bytes:
                        return "too_large"
                    if not data:
                        break
        except TimeoutError:
            return "timeout"
        except OSError:
            return "reset"
        return "closed"

    def _hear(self, data: bytes) -> bool:
        """Read frames; return whether the answer has ended."""
        self._body += data
        messages = self._reads.receive(data)
        return any(message is not None and self.is_end(message.encode()) for message in messages)

    async def _end(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send a ping, and then a close frame, and add what the server answers to the last answer."""
        cut: Cut | None = None
        try:
            writer.write(self._writes.send(Ping(payload=PING)))
            if await self._read_until(lambda: self._reads.pongs > 0, reader):
                writer.write(self._writes.send(CloseConnection(code=1000)))
                await self._read_until(lambda: False, reader)
            else:
                cut = "closed"
        except OSError:
            cut = "reset"
        last = self.answers.pop()
        self._body[:0] = last.body
        self._keep(cut)

    async def _read_until(self, is_over: Callable[[], bool], reader: asyncio.StreamReader) -> bool:
        """Read until `is_over`, or for a few seconds; return False if the server ends it first."""
        limit = time.monotonic() + END_SECONDS
        with suppress(TimeoutError):
            while not is_over():
                if self._reads.close is not None:
                    return False
                async with asyncio.timeout(max(limit - time.monotonic(), 0)):
                    data = await reader.read(READ_SIZE)
                self._hear(data)
                if not data:
                    return False
        return True

    def _keep(self, cut: Cut | None) -> None:
        self.answers.append(self._make_answer(SWITCHED, self._head, bytes(self._body), cut))
        self._body.clear()

    def _make_answer(
        self, status: int, headers: Mapping[str, str], body: bytes, cut: Cut | None
    ) -> RawRecording:
        return RawRecording(
            path=self.url.raw_path.decode("ascii"),
            request_headers=self.headers,
            request_body=self._message.encode(),
            status=status,
            headers=headers,
            body=body,
            received=len(body),
            marks=(),
            cut=cut,
            server=headers.get("server", ""),
        )


async def _read_head(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Return the head of an answer, and what came with it. Raises `ConnectionError`."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = await reader.read(READ_SIZE)
        if not more or len(data) > MAX_HEAD:
            raise ConnectionError("no head of an answer in HTTP")
        data += more
    head, end, rest = data.partition(b"\r\n\r\n")
    return head + end, rest


def _read_headers(head: bytes) -> dict[str, str]:
    lines = (line.decode("latin-1").partition(":") for line in head.split(b"\r\n")[1:] if line)
    return {name.lower(): value.strip() for name, _, value in lines}
