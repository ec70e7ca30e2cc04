"""Put a stream of events into the frames of a WebSocket: one message of text per event. Pure.

As after a real answer, the connection stays open after the terminal event. A stream without one ends with a
clean close instead, because a client would wait for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from streamconform.apis import APIS
from streamconform.delivery.stream import Stream
from streamconform.model.trial import WEBSOCKET
from streamconform.wire.websocket import NORMAL, PING, encode_close, encode_fragments, encode_frame

_DONE: Final = b"[DONE]"
"""The end of a body in the framing `sse`; a WebSocket needs no such mark."""
_CONTINUING: Final = range(0x80, 0xC0)
"""The bytes that continue a character in UTF-8."""


def can_use(stream: Stream) -> bool:
    """Return whether the provider also sends such a stream over a WebSocket."""
    return stream.framing == "sse" and WEBSOCKET in APIS[stream.case.api].extensions.event


def deliver(stream: Stream, name: str) -> tuple[bytes, ...]:
    """Return the chunks of the delivery `name`; joined, they are what the server sends."""
    return _DELIVERIES[name](stream)


def frame_messages(stream: Stream, count: int | None = None) -> tuple[bytes, ...]:
    """Return the messages with the first `count` events, or with all of them, each in one frame."""
    return tuple(map(encode_frame, _list_payloads(stream, count)))


def _frame_all(stream: Stream) -> tuple[bytes, ...]:
    return (*frame_messages(stream), *_end(stream))


def _fragment_all(stream: Stream) -> tuple[bytes, ...]:
    """Return every message in several frames, with a ping after the first."""
    frames: list[bytes] = []
    for payload in _list_payloads(stream):
        first, *rest = encode_fragments(tuple(_split_payload(payload)))
        frames += (first, encode_frame(b"between fragments", PING), *rest)
    return (*frames, *_end(stream))


def _split_payload(payload: bytes) -> Iterator[bytes]:
    """Yield a payload in parts, with a cut inside the first character of several bytes, and an empty end."""
    inside = next((n for n, byte in enumerate(payload) if byte in _CONTINUING), 1)
    start = 0
    for cut in sorted({len(payload) // 2, inside, len(payload)}):
        yield payload[start:cut]
        start = cut
    yield b""


def _list_payloads(stream: Stream, count: int | None = None) -> Iterator[bytes]:
    return (frame.payload for frame in stream.frames[:count] if frame.payload.strip() != _DONE)


def _end(stream: Stream) -> tuple[bytes, ...]:
    """Return what follows the last event."""
    return () if stream.terminal < len(stream.frames) else (encode_close(NORMAL),)


def _split_bytes(stream: Stream) -> tuple[bytes, ...]:
    return tuple(bytes((byte,)) for frame in _frame_all(stream) for byte in frame)


_DELIVERIES: Final[Mapping[str, Callable[[Stream], tuple[bytes, ...]]]] = {
    WEBSOCKET: _frame_all,
    f"{WEBSOCKET}-whole": lambda stream: (b"".join(_frame_all(stream)),),
    f"{WEBSOCKET}-bytewise": _split_bytes,
    f"{WEBSOCKET}-fragments": _fragment_all,
}
