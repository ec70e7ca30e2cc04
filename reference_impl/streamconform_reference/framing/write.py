"""Write frames: a payload in, the bytes of its frame out.

Payloads are compact JSON, which contains no line breaks, so one line is one frame. Characters that only some
libraries treat as line ends (U+0085, U+2028) stay unescaped, because no framing here breaks lines there.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final

from streamconform_reference.json_text.codec import dumps

SSE_COMMENT: Final = b": keepalive\n\n"
"""An SSE comment, which clients ignore and which keeps a connection open."""
SSE_DONE: Final = b"data: [DONE]\n\n"

_PRELUDE: Final = struct.Struct(">II")
_CHECKSUM: Final = struct.Struct(">I")
_TEXT_HEADER: Final = struct.Struct(">BH")
_TEXT: Final = 7  # the type of a text header


def sse(payload: Any, event: str | None = None) -> bytes:
    """Return a server-sent event, with an optional name."""
    name_line = b"" if event is None else b"event: %s\n" % event.encode()
    return b"%sdata: %s\n\n" % (name_line, dumps(payload))


def ndjson(payload: Any) -> bytes:
    """Return a JSON line."""
    return dumps(payload) + b"\n"


def array_element(payload: Any, *, first: bool) -> bytes:
    """Return the next element of a JSON array; the first one opens the array, and `ARRAY_END` closes it."""
    return (b"[" if first else b",\r\n") + dumps(payload)


ARRAY_END: Final = b"]"


def encode_event_stream_message(headers: Mapping[str, str], payload: Any) -> bytes:
    """Return a message of an AWS event stream; `aws_eventstream` describes the format."""
    block = b"".join(_text_header(name, value) for name, value in headers.items())
    data = dumps(payload)
    total = _PRELUDE.size + _CHECKSUM.size + len(block) + len(data) + _CHECKSUM.size
    prelude = _PRELUDE.pack(total, len(block))
    message = prelude + _CHECKSUM.pack(zlib.crc32(prelude)) + block + data
    return message + _CHECKSUM.pack(zlib.crc32(message))


def _text_header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return bytes([len(key)]) + key + _TEXT_HEADER.pack(_TEXT, len(text)) + text
