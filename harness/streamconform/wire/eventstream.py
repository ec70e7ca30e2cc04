"""Split and write AWS binary event streams (https://smithy.io/2.0/aws/amazon-eventstream.html).

A message consists of two lengths and their checksum, headers, a payload, and a checksum of everything before
it. The harness uses this implementation, which reads a complete body at once.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Final, Literal

from streamconform.wire.frames import Frame

PRELUDE: Final = struct.Struct(">III")
_CHECKSUM: Final = struct.Struct(">I")
_OVERHEAD: Final = PRELUDE.size + _CHECKSUM.size

_STRING_TYPE: Final = 7
_FIXED_SIZES: Final[Mapping[int, int]] = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""The size of a header value in bytes, by type: true, false, byte, short, integer, long, timestamp, uuid.
"""
_SIZED_TYPES: Final = frozenset({6, _STRING_TYPE})
"""The types whose value is preceded by its two-byte length: byte array, string."""

_NAME_HEADERS: Final = (":event-type", ":exception-type", ":error-code")
"""The headers that name a message's event, modeled error, or other error."""

Kind = Literal["event", "exception"]


def split(body: bytes) -> tuple[Frame, ...]:
    """Return the messages in `body` before the first truncated or corrupt one.

    After a wrong checksum or length, the next message cannot be located, and the specification says that the
    stream ends there. A message without a payload also counts as a frame, since an error may consist only of
    headers.
    """
    frames = []
    start = 0
    while (frame := _read_message(body, start)) is not None:
        frames.append(frame)
        start = frame.end
    return tuple(frames)


def encode_event(payload: bytes, name: str, kind: Kind = "event") -> bytes:
    """Return a message that carries `payload` as the event or the exception `name`."""
    headers = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    return encode_message(b"".join(_encode_string(*header) for header in headers.items()), payload)


def encode_message(headers: bytes, payload: bytes) -> bytes:
    """Return a message with these encoded headers and this payload."""
    total = _OVERHEAD + len(headers) + len(payload)
    lengths = struct.pack(">II", total, len(headers))
    content = lengths + _encode_checksum(lengths) + headers + payload
    return content + _encode_checksum(content)


def replace_payload(original: bytes, payload: bytes) -> bytes:
    """Return the message `original` with a new payload but the same headers."""
    length = PRELUDE.unpack_from(original)[1]
    return encode_message(original[PRELUDE.size : PRELUDE.size + length], payload)


def update_checksums(before: bytes, after: bytes) -> bytes:
    """Return `after` with new checksums in the messages that differ from `before`.

    `after` has the same length as `before`, but some of its bytes were replaced. Checksums that were wrong
    remain wrong.
    """
    out = bytearray(after)
    # Scrubbing overwrites bytes inside messages, and a parser under test would reject the old checksums.
    for frame in split(before):
        span = slice(frame.start, frame.end)
        if frame.value is not None and after[span] != before[span]:
            start, stop = frame.value
            out[span] = encode_message(after[frame.start + PRELUDE.size : start], after[start:stop])
    return bytes(out)


def _read_message(body: bytes, start: int) -> Frame | None:
    """Return the message that begins at `start`, or None if it is incomplete or corrupt."""
    if len(body) - start < _OVERHEAD:
        return None
    total, length, checksum = PRELUDE.unpack_from(body, start)
    end = start + total
    # Checked before the checksums, because a corrupt length would point outside the message.
    if total < _OVERHEAD + length or end > len(body):
        return None
    # A view, because slicing would copy every message again for its checksum.
    view = memoryview(body)
    lengths_valid = checksum == zlib.crc32(view[start : start + 8])
    if not lengths_valid or _CHECKSUM.unpack_from(body, end - 4)[0] != zlib.crc32(view[start : end - 4]):
        return None
    value = (start + PRELUDE.size + length, end - 4)
    headers = _read_headers(body[start + PRELUDE.size : value[0]])
    if headers is None:
        return None
    name = next((headers[header] for header in _NAME_HEADERS if header in headers), None)
    return Frame(start, end, body[slice(*value)], value, name)


def _read_headers(data: bytes) -> dict[str, str] | None:
    """Return the string headers by name, or None if the headers do not fill `data` exactly."""
    headers: dict[str, str] = {}
    position = 0
    while position < len(data):
        name = data[position + 1 : position + 1 + data[position]]
        kind_position = position + 1 + data[position]
        if not name or kind_position >= len(data):
            return None
        kind = data[kind_position]
        value = kind_position + (3 if kind in _SIZED_TYPES else 1)
        size = (
            int.from_bytes(data[kind_position + 1 : value])
            if kind in _SIZED_TYPES
            else _FIXED_SIZES.get(kind)
        )
        if size is None or value + size > len(data):
            return None
        position = value + size
        # Other types are skipped by their size, because the headers that name a message are strings.
        if kind == _STRING_TYPE:
            headers[name.decode("utf-8", "replace")] = data[value:position].decode("utf-8", "replace")
    return headers


def _encode_string(name: str, value: str) -> bytes:
    key, data = name.encode(), value.encode()
    return bytes((len(key),)) + key + bytes((_STRING_TYPE,)) + len(data).to_bytes(2) + data


def _encode_checksum(data: bytes) -> bytes:
    return _CHECKSUM.pack(zlib.crc32(data))
