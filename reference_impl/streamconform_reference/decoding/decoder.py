"""What all decoders share: bytes to frames to payloads, and every way in which a response can fail.

A decoder is sans-IO: `receive_data` for each chunk, `receive_eof` once at the end, events out of
both. It raises on no bytes whatever.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.provider_errors import protocol_error, read_error_body
from streamconform_reference.events import Event
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Error, Outcome
from streamconform_reference.pricing import Pricing

Payload = dict[str, Any]

DONE_MARK: Final = b"[DONE]"
_HTTP_ERROR: Final = 400
# Bytes kept of a body that may be an error document; none is as long.
_BODY_HEAD: Final = 256 * 1024


class BrokenPayloadError(Exception):
    """A known frame has not the shape that its api documents. Never leaves a decoder."""


class Decoder(ABC):
    """Decodes one response; subclasses name their framing and read payloads."""

    framing_factory: ClassVar[Callable[[], Framing]]
    mark_ends_body: ClassVar[bool] = False
    """Whether nothing counts behind `[DONE]`, as in the one api that documents it."""

    def __init__(
        self,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        pricing: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin before the first byte of the body; header names are in lower case."""
        self.status = status
        self.failed = status >= _HTTP_ERROR
        """Whether the HTTP status says that the body is no stream but an error document."""
        self.headers = headers or {}
        self.framing = type(self).framing_factory()
        self.message = Assembler(Pricing(pricing) if pricing is not None else None)
        self._head = bytearray()  # of a body in which no frame was seen
        self._framed = False
        self.begin()

    def begin(self) -> None:  # noqa: B027 - most decoders remember something, one does not
        """Set what a decoder remembers between payloads; `message` is there already."""

    def receive_data(self, data: bytes) -> list[Event]:
        """Take the next bytes of the body, cut anywhere; return the events that they bring."""
        if self.message.ended:
            return []
        if not self._framed and len(self._head) < _BODY_HEAD:
            self._head += data[: _BODY_HEAD - len(self._head)]
        if self.failed:
            return []
        frames = self.framing.receive(data)
        if self.framing.fault is None and not frames:
            return []
        for frame in frames:
            self.receive_frame(frame)
        if self.framing.fault is not None:
            self.message.fail(protocol_error(self.framing.fault))
        return self.message.take_events()

    def receive_eof(self) -> list[Event]:
        """Take the end of the body; return the last events. The terminal one is out by then."""
        if not self.message.ended:
            self._end()
        return self.message.take_events()

    def receive_frame(self, frame: Frame) -> None:
        """Take one frame of the body, in its order."""
        if not self._framed:
            self._framed = True
            self._head.clear()
        if self.message.ended:
            return
        try:
            payload = codec.loads(frame.data)
        except codec.NotJsonError as error:
            data = frame.data.strip()
            if data == DONE_MARK:
                if self.mark_ends_body:
                    self.end_of_body()
            elif data:
                self.message.fail(protocol_error(f"a payload is not JSON: {error}"))
            return
        if isinstance(payload, dict):  # a payload without fields has no type, so it is unknown
            try:
                self.read(payload)
            except BrokenPayloadError as error:
                self.message.fail(protocol_error(str(error)))

    def _end(self) -> None:
        if self.failed:
            # Some servers send even this document in the framing of the stream.
            frames = self.framing.receive(bytes(self._head)) + self.framing.end()
            document = frames[0].data if frames else bytes(self._head)
            self.message.fail(self.read_failure(document))
            return
        for frame in self.framing.end():
            self.receive_frame(frame)
        if not (self._framed or self.framing.recognised):
            self.message.fail(read_error_body(bytes(self._head), self.status))
        self.end_of_body()

    def read_failure(self, document: bytes) -> Error:
        """Return what the body of a failed response says of the error."""
        return read_error_body(document, self.status)

    @abstractmethod
    def read(self, payload: Payload) -> None:
        """Read one payload into `message`.

        Raises:
            BrokenPayloadError: it is of a known type, but not of its shape.
        """

    def end_of_body(self) -> None:
        """Take the end of the body behind its last frame; the answer has ended when this returns."""
        self.message.end_of_file()

    def snapshot(self) -> Outcome:
        """Return the outcome so far."""
        return self.message.snapshot()

    @property
    def outcome(self) -> Outcome:
        """The outcome; final after `receive_eof` or a terminal event."""
        return self.message.snapshot()
