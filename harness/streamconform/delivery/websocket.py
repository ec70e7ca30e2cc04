"""Put a stream of events into the frames of a WebSocket: one message of text per event. Pure.

As after a real answer, the connection stays open after the terminal event. A stream without one ends with a
clean close instead, because a client would wait for the rest, and so does one whose last message has no type.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.payloads import read_payload
from streamconform.delivery.stream import Stream
from streamconform.model.trial import LARGE, WEBSOCKET, find_transport
from streamconform.wire.websocket import NORMAL, PING, encode_close, encode_fragments, encode_frame

_DONE: Final = b"[DONE]"
"""The end of a body in the framing `sse`; a WebSocket needs no such mark."""
_CONTROL: Final = b'{"$'
"""The start of a line that is no message: `{"$ping": text}`, `{"$close": {"code": …, "reason": …}}`, or
`{"$abort": true}` for the end of the connection without a close frame.
"""
_LARGE: Final = (1 << 20) + 1
"""A size above the limit that WebSocket libraries have by default."""
_PINGS: Final = 8
"""The most pings in a stream; a client may close a connection with many at once, as `ws` does."""
_CONTINUING: Final = range(0x80, 0xC0)
"""The bytes that continue a character in UTF-8."""


def can_use(stream: Stream) -> bool:
    """Return whether the provider sends such a stream over a WebSocket, also or only."""
    framings = ("sse", "ndjson") if is_only(stream) else ("sse",)
    return stream.framing in framings and WEBSOCKET in APIS[stream.case.api].extensions.event


def is_only(stream: Stream) -> bool:
    """Return whether the stream is one of a WebSocket, which cannot come over HTTP."""
    return stream.case.cassette.transport == WEBSOCKET


def allows(stream: Stream, name: str) -> bool:
    """Return whether a delivery's transport can carry the stream."""
    return can_use(stream) if find_transport(name) == WEBSOCKET else not is_only(stream)


def deliver(stream: Stream, name: str) -> tuple[bytes, ...]:
    """Return the chunks of the delivery `name`; joined, they are what the server sends."""
    return _DELIVERIES[name](stream)


def frame_messages(stream: Stream, count: int | None = None) -> tuple[bytes, ...]:
    """Return the messages with the first `count` events, or with all of them, each in one frame."""
    return tuple(frame_lines(frame.payload for frame in stream.frames[:count]))


def _frame_all(stream: Stream) -> tuple[bytes, ...]:
    return (*frame_messages(stream), *_end(stream))


def _fragment_all(stream: Stream) -> tuple[bytes, ...]:
    """Return every message in several frames, with a ping after the first one of a few messages."""
    step = -(-len(stream.frames) // _PINGS)
    count = itertools.count()
    payloads = (frame.payload for frame in stream.frames)
    fragments = frame_lines(payloads, lambda payload: _fragment(payload, has_ping=next(count) % step == 0))
    return (*fragments, *_end(stream))


def frame_lines(
    payloads: Iterable[bytes],
    encode: Callable[[bytes], tuple[bytes, ...]] = lambda payload: (encode_frame(payload),),
) -> Iterator[bytes]:
    """Yield the frames of the lines of a cassette: what `encode` returns for messages, and control frames."""
    for payload in payloads:
        if payload.startswith(_CONTROL):
            yield from _encode_control(json.loads(payload))
        elif payload.strip() != _DONE:
            yield from encode(payload)


def _fragment(payload: bytes, *, has_ping: bool) -> tuple[bytes, ...]:
    first, *rest = encode_fragments(tuple(_split_payload(payload)))
    return (first, *([encode_frame(b"between fragments", PING)] if has_ping else []), *rest)


def _split_payload(payload: bytes) -> Iterator[bytes]:
    """Yield a payload in parts, with a cut inside the first character of several bytes, and an empty end."""
    inside = next((n for n, byte in enumerate(payload) if byte in _CONTINUING), 1)
    start = 0
    for cut in sorted({len(payload) // 2, inside, len(payload)}):
        yield payload[start:cut]
        start = cut
    yield b""


def _encode_control(line: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the control frame that a line stands for, if it is one."""
    if "$ping" in line:
        yield encode_frame(line["$ping"].encode(), PING)
    elif "$close" in line:
        yield encode_close(line["$close"]["code"], line["$close"].get("reason", ""))


def _end(stream: Stream) -> tuple[bytes, ...]:
    """Return what follows the last event."""
    last = stream.frames[min(stream.terminal, len(stream.frames) - 1)].payload
    is_ended = last.startswith(_CONTROL) or (
        stream.terminal < len(stream.frames) and "type" in read_payload(last)
    )
    return () if is_ended else (encode_close(NORMAL),)


def _enlarge_last(stream: Stream) -> tuple[bytes, ...]:
    """Return every message in one frame, and the one of the terminal event filled up with white space."""
    last = stream.frames[min(stream.terminal, len(stream.frames) - 1)].payload
    enlarged = frame_lines(
        (frame.payload for frame in stream.frames),
        lambda payload: (encode_frame(payload.ljust(_LARGE * (payload == last))),),
    )
    return (*enlarged, *_end(stream))


def _split_bytes(stream: Stream) -> tuple[bytes, ...]:
    return tuple(bytes((byte,)) for frame in _frame_all(stream) for byte in frame)


_DELIVERIES: Final[Mapping[str, Callable[[Stream], tuple[bytes, ...]]]] = {
    WEBSOCKET: _frame_all,
    f"{WEBSOCKET}-whole": lambda stream: (b"".join(_frame_all(stream)),),
    f"{WEBSOCKET}-bytewise": _split_bytes,
    f"{WEBSOCKET}-fragments": _fragment_all,
    LARGE: _enlarge_last,
}
