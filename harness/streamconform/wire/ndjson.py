"""NDJSON bodies as frames: one JSON value a line. `split` a whole body, and the bytes of one line.

This is the harness's own reading of https://github.com/ndjson/ndjson-spec, whole body at once.
"""

from __future__ import annotations

from streamconform.wire import json_text
from streamconform.wire.frames import Frame

_WHITESPACE = b" \t\r\n"
"""What JSON takes for white space; so a line may end with CR LF too."""


def split(body: bytes) -> tuple[Frame, ...]:
    """Return the lines of `body` that are not blank, whatever stands in them.

    A last line without its line end counts if it is JSON; else the body was cut inside it, and it is
    left out.
    """
    frames = []
    start = 0
    while start < len(body):
        line_end = body.find(b"\n", start)
        end = len(body) if line_end < 0 else line_end + 1
        encode_line = body[start:end]
        payload = encode_line.strip(_WHITESPACE)
        if payload and (line_end >= 0 or json_text.is_json(payload)):
            at = end - len(encode_line.lstrip(_WHITESPACE))
            frames.append(Frame(start, end, payload, (at, at + len(payload))))
        start = end
    return tuple(frames)


def encode_line(payload: bytes) -> bytes:
    """Return the bytes of one line with its LF."""
    return payload + b"\n"
