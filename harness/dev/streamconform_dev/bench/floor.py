"""The floor, which is the least work to read a stream: cut the body into frames and parse each payload.

There is one function per framing: chunks in, number of payloads out. It keeps only the incomplete frame.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

import orjson

_PRELUDE: Final = struct.Struct(">III")
_CHECKSUM: Final = struct.Struct(">I")


def sse(chunks: Iterable[bytes]) -> int:
    """Read server-sent events that have one `data` line each and LF line ends, like the streams here."""
    count = 0
    buffer = bytearray()
    for chunk in chunks:
        unseen = max(len(buffer) - 1, 0)
        buffer += chunk
        end = buffer.rfind(b"\n\n", unseen)
        if end < 0:
            continue
        for frame in bytes(buffer[:end]).split(b"\n\n"):
            payload = frame[frame.index(b"data: ") + 6 :]
            if payload != b"[DONE]":
                orjson.loads(payload)
            count += 1
        del buffer[: end + 2]
    return count


def json_lines(chunks: Iterable[bytes]) -> int:
    """Read JSON lines with LF line ends and no blank lines."""
    count = 0
    buffer = bytearray()
    for chunk in chunks:
        unseen = len(buffer)
        buffer += chunk
        end = buffer.rfind(b"\n", unseen)
        if end < 0:
            continue
        for line in bytes(buffer[:end]).split(b"\n"):
            orjson.loads(line)
            count += 1
        del buffer[: end + 1]
    return count


def _load_event(payload: bytes) -> None:
    """Parse the model's event in the payload of a message."""
    orjson.loads(base64.b64decode(orjson.loads(payload)["bytes"]))


def event_stream(chunks: Iterable[bytes], *, load: Callable[[bytes], object] = orjson.loads) -> int:
    """Read messages of an AWS event stream, and verify the two checksums of each.

    Without these, a reader would trust wrong lengths. The headers are not read.
    """
    count = 0
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        body, start = bytes(buffer), 0
        while len(body) - start >= _PRELUDE.size:
            total, headers, checksum = _PRELUDE.unpack_from(body, start)
            end = start + total
            if end > len(body):
                break
            message = body[start:end]
            if (
                zlib.crc32(message[:8]) != checksum
                or zlib.crc32(message[:-4]) != _CHECKSUM.unpack_from(message, total - 4)[0]
            ):
                raise ValueError(start)
            load(message[12 + headers : -4])
            start = end
            count += 1
        del buffer[:start]
    return count


FLOORS: Final[Mapping[str, Callable[[Iterable[bytes]], int]]] = {
    "anthropic-messages": sse,
    "openai-chat": sse,
    "openai-responses": sse,
    "google-generate": sse,
    "google-interactions": sse,
    "ollama-chat": json_lines,
    "cohere-chat": sse,
    "bedrock-converse": event_stream,
    "bedrock-invoke": partial(event_stream, load=_load_event),
}
"""A row for each api."""
