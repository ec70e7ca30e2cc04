"""Write one payload in each framing, like the providers."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final

_PRELUDE: Final = struct.Struct(">II")
_CHECKSUM: Final = struct.Struct(">I")
_LENGTH: Final = struct.Struct(">H")
_TEXT: Final = 7  # the type of a header


def sse(payload: Mapping[str, Any], event: str | None = None) -> bytes:
    """Return one server-sent event."""
    return (f"event: {event}\n" if event else "").encode() + b"data: " + _json(payload) + b"\n\n"


def line(payload: Mapping[str, Any]) -> bytes:
    """Return one line of JSON lines."""
    return _json(payload) + b"\n"


def message(payload: Mapping[str, Any], event: str) -> bytes:
    """Return one message of an AWS event stream."""
    headers = {":event-type": event, ":content-type": "application/json", ":message-type": "event"}
    block = b"".join(
        bytes([len(name)]) + name.encode() + bytes([_TEXT]) + _LENGTH.pack(len(value)) + value.encode()
        for name, value in headers.items()
    )
    body = _json(payload)
    lengths = _PRELUDE.pack(_PRELUDE.size + len(block) + len(body) + 2 * _CHECKSUM.size, len(block))
    summed = lengths + _CHECKSUM.pack(zlib.crc32(lengths)) + block + body
    return summed + _CHECKSUM.pack(zlib.crc32(summed))


def invoke_chunk(payload: Mapping[str, Any]) -> bytes:
    """Return one message of an AWS event stream that contains a model's event in base64."""
    return message({"bytes": base64.b64encode(_json(payload)).decode(), "p": "abcdefgh"}, "chunk")


def _json(payload: Mapping[str, Any]) -> bytes:
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
