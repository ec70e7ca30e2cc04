"""Binary event streams as frames: `split` a whole body, and the bytes of one message.

This is the harness's own reading of https://smithy.io/2.0/aws/amazon-eventstream.html, whole body at once:
two lengths and their checksum, headers, a payload, and the checksum of all that.
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
"""Bytes of a header's value by its type: true, false, byte, short, integer, long, timestamp, uuid."""
_SIZED_TYPES: Final = frozenset({6, _STRING_TYPE})
"""Types whose value has its length (two bytes) before it: byte array, string."""

_NAME_HEADERS: Final = (":event-type", ":exception-type", ":error-code")
"""Headers that name what a message is: an event, a modelled error, any other error."""

Kind = Literal["event", "exception"]


def split(body: bytes) -> tuple[Frame, ...]:
    """Return the messages of `body`, up to the first that is cut or broken.

    Behind a wrong checksum or length nobody knows where the next message begins, and the specification
    ends the stream there. A message without payload is a frame too: an error may have headers only.
    """
    frames = []
    start = 0
    while (frame := _read_message(body, start)) is not None:
        frames.append(frame)
        start = frame.end
    return tuple(frames)


def encode_event(payload: bytes, name: str, kind: Kind = "event") -> bytes:
    """Return the bytes of the message that says `payload` is the event, or the exception, `name`."""
    headers = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    return encode_message(b"".join(_encode_string(*each) for each in headers.items()), payload)


def encode_message(headers: bytes, payload: bytes) -> bytes:
    """Return the bytes of one message, lengths and checksums made for what is in it."""
    total = _OVERHEAD + len(headers) + len(payload)
    lengths = struct.pack(">II", total, len(headers))
    whole = lengths + _encode_checksum(lengths) + headers + payload
    return whole + _encode_checksum(whole)


def replace_payload(one: bytes, payload: bytes) -> bytes:
    """Return the message `one` with its headers as they are and another payload."""
    length = PRELUDE.unpack_from(one)[1]
    return encode_message(one[PRELUDE.size : PRELUDE.size + length], payload)


def update_checksums(before: bytes, after: bytes) -> bytes:
    """Return `after` with the checksums of those messages made anew that differ from `before`.

    `after` is `before` with bytes replaced by as many bytes. A checksum that was wrong stays wrong.
    """
    out = bytearray(after)
    for frame in split(before):
        place = slice(frame.start, frame.end)
        if frame.value is not None and after[place] != before[place]:
            start, stop = frame.value
            out[place] = encode_message(after[frame.start + PRELUDE.size : start], after[start:stop])
    return bytes(out)


def _read_message(body: bytes, start: int) -> Frame | None:
    """Return the message that begins at `start`, or None where none is whole and sound there."""
    if len(body) - start < _OVERHEAD:
        return None
    total, length, checksum = PRELUDE.unpack_from(body, start)
    end = start + total
    if total < _OVERHEAD + length or end > len(body):
        return None
    view = memoryview(body)
    sound = checksum == zlib.crc32(view[start : start + 8])
    if not sound or _CHECKSUM.unpack_from(body, end - 4)[0] != zlib.crc32(view[start : end - 4]):
        return None
    value = (start + PRELUDE.size + length, end - 4)
    headers = _read_headers(body[start + PRELUDE.size : value[0]])
    if headers is None:
        return None
    name = next((headers[each] for each in _NAME_HEADERS if each in headers), None)
    return Frame(start, end, body[slice(*value)], value, name)


def _read_headers(data: bytes) -> dict[str, str] | None:
    """Return the headers that are strings, by name; None where they do not fill `data` exactly."""
    found: dict[str, str] = {}
    position = 0
    while position < len(data):
        name = data[position + 1 : position + 1 + data[position]]
        kind_at = position + 1 + data[position]
        if not name or kind_at >= len(data):
            return None
        kind = data[kind_at]
        value = kind_at + (3 if kind in _SIZED_TYPES else 1)
        size = int.from_bytes(data[kind_at + 1 : value]) if kind in _SIZED_TYPES else _FIXED_SIZES.get(kind)
        if size is None or value + size > len(data):
            return None
        position = value + size
        if kind == _STRING_TYPE:
            found[name.decode("utf-8", "replace")] = data[value:position].decode("utf-8", "replace")
    return found


def _encode_string(name: str, value: str) -> bytes:
    key, data = name.encode(), value.encode()
    return bytes((len(key),)) + key + bytes((_STRING_TYPE,)) + len(data).to_bytes(2) + data


def _encode_checksum(data: bytes) -> bytes:
    return _CHECKSUM.pack(zlib.crc32(data))
