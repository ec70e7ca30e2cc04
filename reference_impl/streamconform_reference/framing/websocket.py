"""Framing of a WebSocket: one frame per message of text that the server sends.

Source: https://www.rfc-editor.org/rfc/rfc6455 sections 5 to 7

- A frame has its opcode in the first byte, and its length in 7 bits, or in 2 or 8 bytes after the value 126
  or 127. A server does not mask its frames, and without extensions, the three reserved bits are 0.
- A message may be in several frames: the first one has its opcode, the others have opcode 0, and the last one
  the bit `FIN`. A fragment may end inside a character, so the fragments are joined as bytes.
- Pings, pongs and the close frame may come between the fragments of a message, and are not fragmented.
- A close frame ends the connection, not the answer, whatever its code: the decoder knows whether the terminal
  event has arrived. Anything after it is ignored.
- An invalid frame is a permanent fault, because the next frame cannot be found.
- Only messages of text are events; a binary message is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from . import MAX_FRAME_BYTES, Frame

_FIN: Final = 0b1000_0000
_RESERVED: Final = 0b0111_0000
_CONTROL: Final = 0b0000_1000  # set in the opcodes of all control frames
_MASK: Final = 0b1000_0000

_CONTINUE, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_OPCODES: Final = (_CONTINUE, _TEXT, _BINARY, _CLOSE, _PING, _PONG)
_MAX_CONTROL: Final = 125


class WebSocketFraming:
    """Framing of a WebSocket; see `streamconform_reference.framing.Framing`.

    A frame's `body[start:end]` is the message with the heads of its fragments, and what came between them.
    """

    length_bytes: ClassVar[Mapping[int, int]] = {126: 2, 127: 8}
    """The size of the length that follows such a second byte."""

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        """Start after the handshake."""
        self.fault: str | None = None
        self.recognised = False
        self.left_over = False
        self.binary_messages = 0
        self._closed = False  # by a close frame
        self._max = max_frame_bytes
        self._buffer = bytearray()  # starts at the current frame
        self._offset = 0  # the position of the buffer in the body
        self._wanted = 2  # the size of the buffer at which it contains the rest of a head or of a frame
        self._kind: int | None = None  # the opcode of the current message
        self._message = bytearray()
        self._start = 0  # of the current message

    def receive(self, data: bytes) -> list[Frame]:
        """Add the next bytes; return the messages whose last byte they contain."""
        if self.fault or self._closed or not data:
            return []
        if not self._offset and not self._buffer:
            self.recognised = not data[0] & _RESERVED and data[0] & 0x0F in _OPCODES
        self._buffer += data
        frames: list[Frame] = []
        end = self._read(frames)
        del self._buffer[:end]
        self._offset += end
        return frames

    def end(self) -> list[Frame]:
        """End the body; a message that is cut is not a frame."""
        self.left_over = not self._closed and (bool(self._buffer) or self._kind is not None)
        return []

    def _read(self, frames: list[Frame]) -> int:
        """Append the buffer's complete messages to `frames`; return the position reached."""
        position = 0
        while not (self.fault or self._closed) and len(self._buffer) - position >= self._wanted:
            size = self._read_head(position)
            end = position + self._wanted
            if size is None or len(self._buffer) < end:
                break
            frames += self._read_frame(position, bytes(self._buffer[end - size : end]))
            self._wanted = 2
            position = end
        return position

    def _read_head(self, position: int) -> int | None:
        """Return the size of the payload, and set `_wanted` to that of the frame.

        If the head is incomplete, return None, and set `_wanted` to its size; if it is invalid, return None.
        """
        first, second = self._buffer[position], self._buffer[position + 1]
        opcode = first & 0x0F
        if first & _RESERVED or opcode not in _OPCODES:
            self._fail("it needs an extension that was not agreed on", position)
        elif second & _MASK:
            self._fail("it is masked, which only a client's are", position)
        elif opcode & _CONTROL and (second > _MAX_CONTROL or not first & _FIN):
            self._fail("a control frame is too long, or fragmented", position)
        head = 2 + self.length_bytes.get(second, 0)
        if len(self._buffer) - position < head:
            self._wanted = head
            return None
        size = second if head == 2 else int.from_bytes(self._buffer[position + 2 : position + head], "big")
        if size + len(self._message) > self._max:
            self._fail(f"the message is longer than {self._max} bytes", position)
        self._wanted = head + size
        return None if self.fault else size

    def _read_frame(self, position: int, payload: bytes) -> list[Frame]:
        """Read one whole frame; return the message that it completes."""
        first = self._buffer[position]
        opcode = first & 0x0F
        if opcode & _CONTROL:
            self._closed = opcode == _CLOSE
            return []
        if (opcode == _CONTINUE) != (self._kind is not None):
            self._fail("a message begins inside another one, or goes on without having begun", position)
            return []
        if self._kind is None:
            self._kind, self._start = opcode, self._offset + position
        self._message += payload
        if not first & _FIN:
            return []
        kind, message = self._kind, bytes(self._message)
        self._kind = None
        self._message.clear()
        if kind != _TEXT:
            self.binary_messages += 1
            return []
        return [Frame(message, None, self._start, self._offset + position + self._wanted)]

    def _fail(self, problem: str, position: int) -> None:
        self.fault = f"the frame at byte {self._offset + position} is invalid: {problem}"
