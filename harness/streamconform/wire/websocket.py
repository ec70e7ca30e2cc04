"""Split and write what a WebSocket server sends after its handshake (RFC 6455): frames without a mask.

The harness uses this implementation, which reads everything at once. A `Frame` here is a message of text,
which may be in several WebSocket frames, with pings between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from streamconform.wire.frames import Frame

CONTINUATION: Final = 0x0
TEXT: Final = 0x1
BINARY: Final = 0x2
CLOSE: Final = 0x8
PING: Final = 0x9
PONG: Final = 0xA
_DATA: Final = frozenset({CONTINUATION, TEXT, BINARY})
_CONTROL: Final = frozenset({CLOSE, PING, PONG})

_FINAL: Final = 0x80
_OPCODE: Final = 0x0F
_RESERVED: Final = 0x70
_SHORT: Final = 125
"""The longest payload whose length fits into the second byte, and the longest one of a control frame."""
_LENGTH_SIZES: Final = {126: 2, 127: 8}
"""The number of bytes that contain the length, by the second byte."""

NORMAL: Final = 1000
GOING_AWAY: Final = 1001
POLICY_VIOLATION: Final = 1008
TOO_BIG: Final = 1009
INTERNAL_ERROR: Final = 1011


class _Part(Struct, frozen=True):
    """One WebSocket frame."""

    opcode: int
    is_final: bool
    start: int
    end: int


def split(body: bytes) -> tuple[Frame, ...]:
    """Return the messages of text in `body` before a close frame, a frame that is cut, or an invalid one."""
    frames = []
    message: list[tuple[int, _Part]] = []
    position = 0
    while (part := _read_part(body, position)) is not None and part.opcode != CLOSE:
        if part.opcode in _DATA:
            # A message begins with any other opcode, and goes on with this one.
            if (part.opcode == CONTINUATION) != bool(message):
                break
            message.append((position, part))
            if part.is_final:
                if message[0][1].opcode == TEXT:
                    frames.append(_join_parts(body, message))
                message = []
        position = part.end
    return tuple(frames)


def list_frames(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the opcode and the payload of each frame before one that is cut or invalid."""
    position = 0
    while (part := _read_part(body, position)) is not None:
        yield part.opcode, body[part.start : part.end]
        position = part.end


def has_close(body: bytes) -> bool:
    """Return whether a close frame comes after valid frames."""
    return any(opcode == CLOSE for opcode, _ in list_frames(body))


def _join_parts(body: bytes, message: list[tuple[int, _Part]]) -> Frame:
    start, end = message[0][0], message[-1][1].end
    payload = b"".join(body[part.start : part.end] for _, part in message)
    return Frame(start, end, payload, (message[0][1].start, end) if len(message) == 1 else None)


def _read_part(body: bytes, position: int) -> _Part | None:
    """Return the frame at `position`, or None if it is incomplete or invalid."""
    if len(body) < position + 2:
        return None
    first, short = body[position], body[position + 1]
    opcode, is_final = first & _OPCODE, bool(first & _FINAL)
    is_control = opcode in _CONTROL
    # A server never masks, and without extensions, the reserved bits are 0.
    if first & _RESERVED or short > 127 or not (is_control or opcode in _DATA):
        return None
    if is_control and (short > _SHORT or not is_final):
        return None
    start = position + 2 + _LENGTH_SIZES.get(short, 0)
    size = short if short <= _SHORT else int.from_bytes(body[position + 2 : start])
    return _Part(opcode, is_final, start, start + size) if start + size <= len(body) else None


def encode_frame(payload: bytes, opcode: int = TEXT, *, is_final: bool = True) -> bytes:
    """Return one frame."""
    size = len(payload)
    long = next((mark for mark, width in _LENGTH_SIZES.items() if size < 1 << 8 * width), 0)
    head = bytes((size,)) if size <= _SHORT else bytes((long,)) + size.to_bytes(_LENGTH_SIZES[long])
    return bytes((opcode | _FINAL * is_final,)) + head + payload


def encode_fragments(parts: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return the frames of a message of text that is in `parts`."""
    last = len(parts) - 1
    return tuple(
        encode_frame(part, CONTINUATION if i else TEXT, is_final=i == last) for i, part in enumerate(parts)
    )


def encode_close(code: int, reason: str = "") -> bytes:
    """Return a close frame."""
    return encode_frame(code.to_bytes(2) + reason.encode(), CLOSE)


def replace_payload(original: bytes, payload: bytes) -> bytes:
    """Return a message with another payload; `original` is one frame."""
    del original
    return encode_frame(payload)
