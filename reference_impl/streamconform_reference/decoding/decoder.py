"""The base of all decoders: from bytes to frames to payloads, and every way a response can fail.

A decoder does no I/O: call `receive_data` with each chunk and `receive_eof` once at the end; both
return events. No input bytes raise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.provider_errors import (
    find_document,
    protocol_error,
    read_error,
    read_error_body,
)
from streamconform_reference.events import Event
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.websocket import WebSocketFraming
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Error, Outcome
from streamconform_reference.pricing import Pricing

Payload = dict[str, Any]

DONE_MARK: Final = b"[DONE]"
ERROR_EVENT: Final = b"error"
_HTTP_ERROR: Final = 400
_SWITCHED: Final = 101
"""The status of a handshake, after which the connection speaks WebSocket."""
READ_BYTES: Final = 16 * 1024
"""The number of bytes to read at once from a larger chunk. Very short lines become frames that take 100 times
as much memory, so the frames of a large chunk must not all exist at the same time."""
# The number of bytes kept of a body that may be an error document; real error documents are shorter.
_BODY_HEAD: Final = 256 * 1024


class BrokenPayloadError(Exception):
    """A known frame does not have the documented shape. Decoders catch this exception themselves."""


class Decoder(ABC):
    """Decodes one response; subclasses set their framing and read payloads."""

    framing_factory: ClassVar[Callable[[], Framing]]
    socket_framing_factory: ClassVar[Callable[[], Framing]] = WebSocketFraming
    """The framing after a handshake."""
    mark_ends_body: ClassVar[bool] = False
    """Whether content after `[DONE]` is ignored; one API documents `[DONE]` as the end of the stream."""

    def __init__(
        self,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        pricing: Mapping[str, Any] | None = None,
        lane: str | None = None,
    ) -> None:
        """Start at the beginning of the body; header names must be in lower case."""
        self.status = status
        self.lane = lane
        """The name of the answer's lane, if the connection has several."""
        self.failed = status >= _HTTP_ERROR
        """Whether the HTTP status marks the body as an error document instead of a stream."""
        self.whole = False
        """Whether the payloads are from a document, whose end is known, unlike that of a stream."""
        self.headers = headers or {}
        is_socket = status == _SWITCHED
        self.framing = type(self).socket_framing_factory() if is_socket else type(self).framing_factory()
        self.message = Assembler(Pricing(pricing) if pricing is not None else None)
        self._head = bytearray()  # the start of a body without frames so far
        self._framed = False
        self.begin()

    def begin(self) -> None:  # noqa: B027 - most decoders keep state, one does not
        """Set the state that the decoder keeps between payloads; `message` already exists."""

    def receive_data(self, data: bytes) -> list[Event]:
        """Decode the next bytes of the body, which may be split anywhere; return the resulting events."""
        if len(data) > READ_BYTES:
            return self._receive_in_pieces(data)
        if self.message.ended:
            return []
        if not self._framed:
            self._head += data[: _BODY_HEAD - len(self._head)]
            # An error document can be read only when it is complete, at the end.
            if self.failed:
                return []
        framing = self.framing
        frames = framing.receive(data)
        # If a body arrives byte by byte, most chunks complete no frame.
        if not frames and framing.fault is None:
            return []
        for frame in frames:
            self.receive_frame(frame)
        if framing.fault is not None:
            self.message.fail(protocol_error(framing.fault))
        return self.message.take_events()

    def _receive_in_pieces(self, data: bytes) -> list[Event]:
        events: list[Event] = []
        for start in range(0, len(data), READ_BYTES):
            events += self.receive_data(data[start : start + READ_BYTES])
        return events

    def receive_eof(self) -> list[Event]:
        """Decode the end of the body; return the last events, including a pending terminal event."""
        if not self.message.ended:
            self._end()
        return self.message.take_events()

    def receive_frame(self, frame: Frame) -> None:
        """Decode one frame of the body; pass the frames in order."""
        if not self._framed:
            self._framed = True
            self._head.clear()
        if self.message.ended:
            return
        # Checked before parsing, because finding out that `[DONE]` is not JSON takes longer than reading a
        # frame. Most marks have no whitespace around them.
        if frame.data == DONE_MARK:
            self._read_mark()
            return
        try:
            payload = codec.loads(frame.data)
        except codec.NotJsonError as error:
            data = frame.data.strip()
            if data == DONE_MARK:
                self._read_mark()
            elif data:
                self.message.fail(protocol_error(f"payload is not valid JSON: {error}"))
            return
        if isinstance(payload, dict):  # any other JSON value has no type, so it is unknown and ignored
            try:
                self.read(payload)
            except BrokenPayloadError as error:
                self.message.fail(protocol_error(str(error)))
            if frame.event == ERROR_EVENT:  # in any envelope
                self.message.fail(read_error(payload))

    def _read_mark(self) -> None:
        if self.mark_ends_body:
            self.end_of_body()

    def _end(self) -> None:
        if self.failed:
            self.message.fail(self.read_failure(bytes(self._head)))
            return
        for frame in self.framing.end():
            self.receive_frame(frame)
        head = bytes(self._head)
        # A document may follow comments that kept the connection open.
        if not self._framed and (not self.framing.recognised or isinstance(find_document(head), dict)):
            self.message.fail(read_error_body(head, self.status))
        self.end_of_body()

    @property
    def lacks_usage_of_cut_frame(self) -> bool:
        """Return whether the body ended inside a frame, which may have had the usage that did not arrive."""
        return self.framing.left_over and self.message.usage() is None

    def read_failure(self, document: bytes) -> Error:
        """Return the error that the body of a failed response describes."""
        return read_error_body(document, self.status)

    @abstractmethod
    def read(self, payload: Payload) -> None:
        """Read one payload into `message`.

        Raises:
            BrokenPayloadError: a payload of a known type does not have the documented shape.
        """

    def end_of_body(self) -> None:
        """End the answer after the last frame; when this returns, the status is final."""
        self.message.end_of_file()

    def snapshot(self) -> Outcome:
        """Return the outcome so far."""
        return self.message.snapshot()

    @property
    def outcome(self) -> Outcome:
        """The outcome; final after `receive_eof` or a terminal event."""
        return self.message.snapshot()
