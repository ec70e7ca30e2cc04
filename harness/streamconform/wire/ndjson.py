"""Split and write NDJSON bodies, one JSON value per line (https://github.com/ndjson/ndjson-spec)."""

from __future__ import annotations

from streamconform.wire import json_text
from streamconform.wire.frames import Frame

_WHITESPACE = b" \t\r\n"
"""JSON whitespace, so a line may also end with CR LF."""


def split(body: bytes) -> tuple[Frame, ...]:
    """Return the lines of `body` that are not blank, whether or not they are valid JSON.

    An unterminated last line is included if it is JSON; otherwise, the body was cut off inside that line.
    """
    frames = []
    start = 0
    while start < len(body):
        # Not `splitlines`, which also splits at CR: inside a line, CR is white space of the JSON.
        line_end = body.find(b"\n", start)
        end = len(body) if line_end < 0 else line_end + 1
        line = body[start:end]
        payload = line.strip(_WHITESPACE)
        if payload and (line_end >= 0 or json_text.is_json(payload)):
            value_start = end - len(line.lstrip(_WHITESPACE))
            frames.append(Frame(start, end, payload, (value_start, value_start + len(payload))))
        start = end
    return tuple(frames)


def encode_line(payload: bytes) -> bytes:
    """Return one line with its LF."""
    return payload + b"\n"
