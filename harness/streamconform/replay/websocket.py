"""Hold a conversation over a WebSocket: each message of the client gets a reply, in the frames of the trial.

wsproto reads what the client sends, and answers its pings. The frames of the trial are written as they are,
so that they can be any that a server may send.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Event, Ping, TextMessage
from wsproto.utilities import RemoteProtocolError

from streamconform.adapters.feed import Gate
from streamconform.apis import APIS
from streamconform.apis.payloads import read_payload
from streamconform.replay.exchange import TrialExchange
from streamconform.replay.reply import Reply, encode_head, make_error_reply
from streamconform.replay.request import MAX_BODY, MAX_KEPT_BODY, ClientConnection, ReceivedRequest
from streamconform.wire.framings import split
from streamconform.wire.websocket import (
    GOING_AWAY,
    POLICY_VIOLATION,
    TOO_BIG,
    encode_close,
    encode_frame,
    has_close,
)

WatchReply = Callable[[ReceivedRequest, Reply], None]
"""Receives a message of the client, with its target below the base URL, and the reply to it."""


class _Ended(Exception):
    """The conversation has ended; `frame` is the close frame to send, if any."""

    def __init__(self, frame: bytes = b"") -> None:
        super().__init__()
        self.frame = frame


@dataclass(slots=True, eq=False)
class Conversation:
    """A connection after the head of its handshake has arrived."""

    exchange: TrialExchange
    handshake: ReceivedRequest
    target: str
    """The path below the base URL."""
    connection: ClientConnection
    watch: WatchReply
    _protocol: WSConnection = field(default_factory=lambda: WSConnection(ConnectionType.SERVER))
    _message: str = ""
    """The message that is arriving."""

    async def hold(self) -> None:
        """Accept the handshake, and answer messages until the connection ends. Raises `OSError`."""
        try:
            await self.connection.write(self._accept())
            self._protocol.receive_data(self.handshake.rest)
            while True:
                await self._answer(await self._receive_message())
        except _Ended as end:
            if end.frame:
                await self.connection.write(end.frame)

    def _accept(self) -> bytes:
        """Return the answer to the handshake."""
        handshake = self.handshake
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in handshake.headers]
        try:
            self._protocol.initiate_upgrade_connection(headers, handshake.target)
            list(self._protocol.events())
        except RemoteProtocolError as error:
            text = f"the server got a handshake that no client may send ({error})"
            self.exchange.note_stray(text)
            reply = make_error_reply(400, text, "a handshake as in RFC 6455")
            raise _Ended(encode_head(reply, "length", close=True) + reply.chunks[0]) from error
        # No extension, because the frames of trials are not compressed.
        return self._protocol.send(AcceptConnection())

    async def _receive_message(self) -> str:
        """Return the next message of text. Raises `_Ended`."""
        while True:
            for event in self._protocol.events():
                if await self._receive_event(event):
                    message, self._message = self._message, ""
                    return message
            self._protocol.receive_data(await self._read() or None)

    async def _receive_event(self, event: Event) -> bool:
        """Handle what the client sent, and return whether that is the end of a message. Raises `_Ended`."""
        match event:
            case TextMessage(data=text, message_finished=is_whole):
                self._message += text
                if len(self._message) > MAX_BODY:
                    raise _Ended(encode_close(TOO_BIG))
                return is_whole
            case BytesMessage():
                self.exchange.note_stray("a binary message, expected one of text")
                raise _Ended(encode_close(POLICY_VIOLATION))
            case Ping():
                await self.connection.write(self._protocol.send(event.response()))
            case CloseConnection(reason=reason) if self._protocol.state is ConnectionState.OPEN:
                # wsproto's name for an invalid frame, such as one without a mask.
                self.exchange.note_stray(f"a frame that no client may send ({reason})")
                raise _Ended(self._protocol.send(event))
            case CloseConnection():
                is_asked = self._protocol.state is ConnectionState.REMOTE_CLOSING
                raise _Ended(self._protocol.send(event.response()) if is_asked else b"")
            case _:
                pass
        return False

    async def _read(self) -> bytes:
        """Return the next bytes, which are empty at the end. Raises `_Ended` if the trial ends first."""
        reading = asyncio.ensure_future(self.connection.reader.read(65536))
        ending = asyncio.ensure_future(self.exchange.ended.wait())
        seconds, first = self.connection.bounds.idle_seconds, asyncio.FIRST_COMPLETED
        try:
            await asyncio.wait({reading, ending}, timeout=seconds, return_when=first)
            if reading.done():
                return reading.result()
            raise _Ended(encode_close(GOING_AWAY))
        finally:
            reading.cancel()
            ending.cancel()
            await asyncio.gather(reading, ending, return_exceptions=True)

    async def _answer(self, message: str) -> None:
        """Send the reply to a message. Raises `_Ended` if that ends the connection."""
        request = self._read_request(message)
        if request is None:
            self.exchange.note_stray(f"a message that requests no answer, `{message[:80]}`")
            return
        reply = self.exchange.answer(request, self.target)
        self.watch(request, reply)
        chunks = reply.chunks if reply.recorded else tuple(_encode_error(reply))
        await self._send(chunks, self.exchange.get_gate(reply))
        body = b"".join(chunks)
        if has_close(body):
            await self._wait_for_end()
        if not _has_ended(self.exchange, body):
            # Only our side, because bytes that we have not read, such as a pong, would turn it into a reset.
            self.connection.writer.write_eof()
            await self._wait_for_end()

    async def _send(self, chunks: tuple[bytes, ...], gate: Gate | None) -> None:
        """Write the frames of a reply. Raises `_Ended` if the trial ends first."""
        transport = self.connection.writer.transport
        self.exchange.transports.add(transport)
        try:
            for number, chunk in enumerate(chunks, 1):
                if gate is not None:
                    await gate.wait_for_turn()
                # The trial timed out while the client was still reading, so the rest is no longer needed.
                if self.exchange.ended.is_set():
                    raise _Ended
                await self.connection.write(chunk)
                self.exchange.note_sent(number)
        finally:
            self.exchange.transports.discard(transport)

    def _read_request(self, message: str) -> ReceivedRequest | None:
        """Return the request that a message stands for, or None if it requests no answer."""
        try:
            value = json.loads(message)
        except (ValueError, RecursionError):
            return None
        sockets = APIS[self.exchange.trial.case.api or ""].sockets
        if sockets is None or not isinstance(value, dict) or value.pop("type", None) != sockets.request:
            return None
        body = json.dumps(value).encode()
        return replace(
            self.handshake,
            target=self.target,
            body=body[:MAX_KEPT_BODY],
            size=len(body),
            rest=b"",
            transport="websocket",
        )

    async def _wait_for_end(self) -> None:
        """Wait until the client has answered our close frame, or has closed. Raises `_Ended`."""
        with contextlib.suppress(_Ended):  # which has a close frame, but the end has been sent
            while data := await self._read():
                self._protocol.receive_data(data)
                if any(isinstance(event, CloseConnection) for event in self._protocol.events()):
                    break
        raise _Ended


def _encode_error(reply: Reply) -> Iterator[bytes]:
    """Yield the frames of an error that describes the expected request."""
    error = {"type": "error", "status": reply.status, **json.loads(reply.chunks[0])}
    yield encode_frame(json.dumps(error).encode())
    yield encode_close(POLICY_VIOLATION)


def _has_ended(exchange: TrialExchange, body: bytes) -> bool:
    """Return whether the frames contain the terminal event, so that the connection stays open."""
    is_terminal = APIS[exchange.trial.case.api or ""].ending.is_terminal
    return any(is_terminal(read_payload(frame.payload)) for frame in split("websocket", body))
