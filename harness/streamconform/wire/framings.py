"""Stream framings: split a body into frames, replace a payload, look up the content type. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from streamconform.model.trial import Framing
from streamconform.wire import eventstream, invoke_stream, json_array, json_text, ndjson, sse, websocket
from streamconform.wire.frames import Frame

_SPLITTERS: Final[Mapping[Framing, Callable[[bytes], tuple[Frame, ...]]]] = {
    "sse": sse.split,
    "ndjson": ndjson.split,
    "json_array": json_array.split,
    "eventstream": eventstream.split,
    "invoke_stream": invoke_stream.split,
    "websocket": websocket.split,
    "document": lambda _: (),
}

MEDIA_TYPES: Final[Mapping[Framing, str]] = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "json_array": "application/json",
    "eventstream": "application/vnd.amazon.eventstream",
    "invoke_stream": "application/vnd.amazon.eventstream",
    "websocket": "application/json",
    "document": "application/json",
}
"""The content type of a body in each framing, or of each message on a WebSocket, which has no such header."""


MESSAGE_REWRITERS: Final[Mapping[Framing, Callable[[bytes, bytes], bytes]]] = {
    "eventstream": eventstream.replace_payload,
    "invoke_stream": invoke_stream.replace_payload,
    "websocket": websocket.replace_payload,
}
"""For each framing of messages with lengths, a function that returns a message with a new payload."""


@lru_cache(maxsize=8)
def split(framed: Framing, body: bytes) -> tuple[Frame, ...]:
    """Return the frames of `body`; a document has none. Cached, since all deliveries split the same body."""
    return _SPLITTERS[framed](body)


def is_stream(framed: Framing, body: bytes) -> bool:
    """Return whether `body` contains frames in this framing."""
    frames = split(framed, body)
    if not frames or framed != "ndjson":
        return bool(frames)
    first = json_text.parse(frames[0].payload)  # any text has lines, so require an object
    return first is not None and first.kind == "object"


def replace_payload(framed: Framing, body: bytes, frame: Frame, payload: bytes) -> bytes:
    """Return the bytes of `frame` with a new payload, or unchanged if its payload is not contiguous."""
    whole = body[frame.start : frame.end]
    if frame.value is None:
        return whole
    rewrite = MESSAGE_REWRITERS.get(framed)
    if rewrite is not None:
        return rewrite(whole, payload)
    start, stop = frame.value
    return body[frame.start : start] + payload + body[stop : frame.end]


def replace_payloads(framed: Framing, body: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return `body` with every payload that is contiguous in `body` replaced by `change(payload)`."""
    out = bytearray()
    position = 0
    for frame in split(framed, body):
        out += body[position : frame.start] + replace_payload(framed, body, frame, change(frame.payload))
        position = frame.end
    return bytes(out + body[position:])
