"""Framing of AWS event streams, `application/vnd.amazon.eventstream`: one frame per message.

A message is big-endian and consists of its length, the length of its headers, the CRC32 of these eight bytes,
the headers, the payload, and the CRC32 of everything before it. A header is a name, a type and a value.

Source: https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html#streaming-event-stream,
and `botocore/eventstream.py` in botocore 1.44.5, which defines the limits.

- Both checksums are verified, and a length is used only if the prelude's checksum is correct, so that a
  corrupt length cannot make a reader wait for bytes that never come. There is no way to resynchronize, so any
  error is a permanent fault.
- The first byte of a length within the limits is 0 or 1. Text never starts with such a byte, so the first
  byte decides whether the body is in this framing.
- A message that is truncated by the end of the body is neither a frame nor a fault, because the stream was
  merely cut off.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from uuid import UUID

from . import Frame, HeaderValue

MAX_HEADERS_BYTES: Final = 128 * 1024
MAX_PAYLOAD_BYTES: Final = 24 * 1024 * 1024

_PRELUDE: Final = struct.Struct(">III")  # length of the message, length of its headers, checksum
_LENGTHS_BYTES: Final = 8
_CHECKSUM: Final = struct.Struct(">I")
_FRAMING_BYTES: Final = _PRELUDE.size + _CHECKSUM.size
_LARGEST_FIRST_BYTE: Final = (MAX_HEADERS_BYTES + MAX_PAYLOAD_BYTES + _FRAMING_BYTES) >> 24

# The value of a header by its type: either of fixed size, or preceded by a two-byte length.
_TRUE, _FALSE, _BYTES, _TEXT, _UUID = 0, 1, 6, 7, 9
_NUMBERS: Final[Mapping[int, struct.Struct]] = {
    2: struct.Struct(">b"),
    3: struct.Struct(">h"),
    4: struct.Struct(">i"),
    5: struct.Struct(">q"),
    8: struct.Struct(">q"),  # a time in milliseconds since 1970
}
_LENGTH: Final = struct.Struct(">H")
_UUID_BYTES: Final = 16

# The headers that name the type of a payload.
_NAMES: Final = (":event-type", ":exception-type", ":error-code")
_COMMON_HEADERS_BYTES: Final = 512  # messages of one event type repeat the same headers


class BrokenHeadersError(ValueError):
    """The headers of a message are invalid. The framing catches this exception itself."""


class EventStreamFraming:
    """Framing of AWS event streams; see `streamconform_reference.framing.Framing`.

    A frame's `data` is the payload of its message, `body[start:end]` is the whole message, and `event` is the
    value of `:event-type`, `:exception-type` or `:error-code`.
    """

    def __init__(
        self, *, max_headers_bytes: int = MAX_HEADERS_BYTES, max_payload_bytes: int = MAX_PAYLOAD_BYTES
    ) -> None:
        """Start at the beginning of a body."""
        self.fault: str | None = None
        self.recognised = False
        self.left_over = False
        self._max_headers = max_headers_bytes
        self._max_payload = max_payload_bytes
        self._buffer = bytearray()  # starts at the current message
        self._offset = 0  # the position of the buffer in the body
        self._lengths: tuple[int, int] | None = None  # the verified lengths of the message and its headers
        self._begun = False

    def receive(self, data: bytes) -> list[Frame]:
        """Add the next bytes; return the frames whose last byte they contain."""
        if data and not self._begun:
            self._begun = True
            self.recognised = data[0] <= _LARGEST_FIRST_BYTE
        if self.fault or not self.recognised:
            return []
        self._buffer += data
        # Most chunks, if they are very small, end neither a prelude nor a message.
        if len(self._buffer) < (self._lengths[0] if self._lengths else _PRELUDE.size):
            return []
        frames: list[Frame] = []
        # Released before the deletion, because a bytearray cannot shrink while there is a view of it.
        with memoryview(self._buffer) as view:
            end = self._read(view, frames)
        del self._buffer[:end]
        self._offset += end
        return frames

    def end(self) -> list[Frame]:
        """End the body; a truncated message is not a frame."""
        self.left_over = bool(self._buffer)
        return []

    def _read(self, view: memoryview, frames: list[Frame]) -> int:
        """Append the view's complete messages to the frames, up to a fault; return the position reached."""
        start, size = 0, len(view)
        while size - start >= _PRELUDE.size:
            # Kept between calls, so that the prelude of a message in many chunks is verified only once.
            total, headers = self._lengths or self._read_prelude(view, start)
            end = start + total
            if self.fault or end > size:
                break
            headers_end, payload_end = start + _PRELUDE.size + headers, end - _CHECKSUM.size
            if zlib.crc32(view[start:payload_end]) != _CHECKSUM.unpack_from(view, payload_end)[0]:
                self._fail("its checksum is wrong", start)
                break
            block = bytes(view[start + _PRELUDE.size : headers_end])
            try:
                read = _read_common_headers if headers <= _COMMON_HEADERS_BYTES else _read_named_headers
                event, values = read(block)
            except BrokenHeadersError as error:
                self._fail(str(error), start)
                break
            payload = bytes(view[headers_end:payload_end])
            frames.append(Frame(payload, event, self._offset + start, self._offset + end, values))
            self._lengths = None
            start = end
        return size if self.fault else start

    def _read_prelude(self, view: memoryview, start: int) -> tuple[int, int]:
        """Return the verified lengths of the message at the position and of its headers."""
        total, headers, checksum = _PRELUDE.unpack_from(view, start)
        payload = total - headers - _FRAMING_BYTES
        if zlib.crc32(view[start : start + _LENGTHS_BYTES]) != checksum:
            self._fail("the checksum of its lengths is wrong", start)
        elif headers > self._max_headers or payload > self._max_payload:
            self._fail(f"{total} bytes exceed the maximum size of a message", start)
        elif payload < 0:
            self._fail(f"{headers} bytes of headers do not fit into {total} bytes", start)
        self._lengths = (total, headers)
        return self._lengths

    def _fail(self, problem: str, start: int) -> None:
        self.fault = f"the message at byte {self._offset + start} is broken: {problem}"


def read_headers(block: bytes) -> dict[str, HeaderValue]:
    """Return a message's headers, by name.

    Raises:
        BrokenHeadersError: a length or a type is wrong, or a name is repeated.
    """
    headers: dict[str, HeaderValue] = {}
    position = 0
    try:
        while position < len(block):
            name_end = position + 1 + block[position]
            name = block[position + 1 : name_end].decode("utf-8", "replace")
            value, position = _read_value(block, name_end)
            if name in headers:
                raise BrokenHeadersError(f"duplicate header `{name}`")
            headers[name] = value
    except (IndexError, struct.error):
        raise BrokenHeadersError("the headers are truncated") from None
    return headers


def _read_value(block: bytes, position: int) -> tuple[HeaderValue, int]:
    """Return the value whose type byte is at the position, and the position after it."""
    kind = block[position]
    position += 1
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, position
    number = _NUMBERS.get(kind)
    if number:
        value: int = number.unpack_from(block, position)[0]
        return value, position + number.size
    if kind == _UUID:
        return str(UUID(bytes=_read_slice(block, position, _UUID_BYTES))), position + _UUID_BYTES
    if kind not in (_BYTES, _TEXT):
        raise BrokenHeadersError(f"unknown header type {kind}")
    (length,) = _LENGTH.unpack_from(block, position)
    position += _LENGTH.size
    raw = _read_slice(block, position, length)
    return raw.decode("utf-8", "replace") if kind == _TEXT else raw, position + length


def _read_slice(block: bytes, position: int, length: int) -> bytes:
    raw = block[position : position + length]
    if len(raw) < length:
        raise IndexError
    return raw


def _read_named_headers(block: bytes) -> tuple[bytes | None, Mapping[str, HeaderValue]]:
    headers = read_headers(block)
    names = (headers.get(name) for name in _NAMES)
    event = next((name for name in names if isinstance(name, str)), None)
    return None if event is None else event.encode(), headers


_read_common_headers = lru_cache(maxsize=256)(_read_named_headers)
