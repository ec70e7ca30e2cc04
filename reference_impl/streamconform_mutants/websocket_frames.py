"""Mutants that misread the frames of a WebSocket: fragments, pings, masks and lengths."""

from __future__ import annotations

from itertools import cycle
from typing import Final

from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.framing import Frame
from streamconform_reference.framing.websocket import WebSocketFraming

from .model import GIVES_UP
from .registry import StreamMutants

mutants = StreamMutants("openai-responses", OpenaiResponsesDecoder, claimed=("websocket",))

_CONTROL: Final = 0x8
_PING: Final = 0x9
_OPCODE: Final = 0xF
_MASK_SIZE: Final = 4


@mutants.replace("socket_framing_factory", kind="reads-as-units", fails=GIVES_UP)
class FragmentsApart(WebSocketFraming):
    """Takes every fragment for a whole message."""

    def _read_frame(self, position: int, payload: bytes) -> list[Frame]:
        if self._buffer[position] & _CONTROL:
            return super()._read_frame(position, payload)
        return [Frame(payload, None, 0, 0)]


@mutants.replace("socket_framing_factory", kind="reads-as-units", fails=GIVES_UP)
class FragmentsDecodedAlone(WebSocketFraming):
    """Decodes each fragment by itself, although it may end inside a character."""

    def _read_frame(self, position: int, payload: bytes) -> list[Frame]:
        return super()._read_frame(position, payload.decode(errors="replace").encode())


@mutants.replace("socket_framing_factory", kind="keep-alives-read", fails=GIVES_UP)
class PingsRead(WebSocketFraming):
    """Takes a ping for a message."""

    def _read_frame(self, position: int, payload: bytes) -> list[Frame]:
        if self._buffer[position] & _OPCODE == _PING:
            return [Frame(payload, None, 0, 0)]
        return super()._read_frame(position, payload)


@mutants.replace("socket_framing_factory", kind="text-garbled", fails=GIVES_UP)
class MaskExpected(WebSocketFraming):
    """Takes the first bytes of each message for a mask, as if a client had sent it."""

    def _read_frame(self, position: int, payload: bytes) -> list[Frame]:
        mask = cycle(payload[:_MASK_SIZE])
        plain = bytes(byte ^ key for byte, key in zip(payload[_MASK_SIZE:], mask, strict=False))
        return super()._read_frame(position, plain)


@mutants.replace("socket_framing_factory", kind="end-too-early", fails=GIVES_UP)
class LongLengthMisread(WebSocketFraming):
    """Reads the longest form of a length, which has 8 bytes, as one of 4."""

    length_bytes = {**WebSocketFraming.length_bytes, 127: 4}  # noqa: RUF012 (read only)


@mutants.replace("socket_framing_factory", kind="end-too-early", fails=GIVES_UP)
def megabyte_refused() -> WebSocketFraming:
    """Gives up on a message of more than a mebibyte, the limit that WebSocket libraries have by default."""
    return WebSocketFraming(max_frame_bytes=1 << 20)
