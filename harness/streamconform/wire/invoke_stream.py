"""Split and write the streams of Amazon Bedrock's `InvokeModelWithResponseStream`.

They are AWS binary event streams. The payload of a `chunk` event is `{"bytes": "…"}`: a base64-encoded model
event, sometimes with padding in other members. In this framing, a frame's payload is the model's event. All
other messages (exceptions, events with other names) keep their payload.
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_PayloadPart.html
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from streamconform.wire import eventstream, json_text
from streamconform.wire.frames import Frame

CHUNK: Final = "chunk"
"""The name of the AWS events that contain model events."""
_BYTES: Final = b'"bytes"'


def split(body: bytes) -> tuple[Frame, ...]:
    """Return the messages in `body` before the first truncated or corrupt one, with model events decoded.

    The `value` of such a frame is the span of the base64 text.
    """
    return tuple(_decode_frame(frame) for frame in eventstream.split(body))


def encode_event(payload: bytes) -> bytes:
    """Return the message that contains the model's event `payload`."""
    return eventstream.encode_event(b'{"bytes":"%s"}' % base64.b64encode(payload), CHUNK)


def write_chunks(payloads: Iterable[bytes]) -> bytes:
    """Return messages that contain these model events."""
    return b"".join(encode_event(payload) for payload in payloads)


def replace_payload(original: bytes, payload: bytes) -> bytes:
    """Return the message `original` with a new payload but the same headers and padding.

    If `original` contains a base64-encoded model event, so does the result.
    """
    frames = eventstream.split(original)
    span = _find_encoded(frames[0]) if frames else None
    if span is None:
        return eventstream.replace_payload(original, payload)
    outer = frames[0].payload
    # The provider may have encoded the same bytes with other JSON escapes, and unchanged bytes must be
    # preserved.
    if _decode(outer[slice(*span)]) == payload:
        return original
    encoded = outer[: span[0]] + base64.b64encode(payload) + outer[span[1] :]
    return eventstream.replace_payload(original, encoded)


def _decode_frame(frame: Frame) -> Frame:
    span = _find_encoded(frame)
    if span is None or frame.value is None:
        return frame
    start = frame.value[0]
    data = _decode(frame.payload[slice(*span)]) or b""
    return replace(frame, payload=data, value=(start + span[0], start + span[1]))


def _find_encoded(frame: Frame) -> tuple[int, int] | None:
    """Return the span of the base64 text in the payload of a `chunk`, or None if it is not valid base64."""
    root = json_text.parse(frame.payload) if frame.event == CHUNK else None
    if root is None or root.kind != "object":
        return None
    found = None
    for key, item in zip(root.keys, root.items, strict=True):
        if frame.payload[slice(*key)] == _BYTES and frame.payload[item.start : item.start + 1] == b'"':
            # No `break`: the last of duplicate keys wins, as in JSON parsers.
            found = item.start + 1, item.end - 1
    return found if found is not None and _decode(frame.payload[slice(*found)]) is not None else None


def _decode(text: bytes) -> bytes | None:
    try:
        # Decode the JSON first, because the text may contain escapes, such as `\/` for a slash.
        return base64.b64decode(json.loads(b'"%s"' % text), validate=True)
    except ValueError:
        return None
