"""The floor: what reading a stream costs at least. Cut the body into frames, parse each payload, no more.

For each framing one function, chunks in, number of payloads out; it holds nothing but the unended frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import orjson


def sse(chunks: Iterable[bytes]) -> int:
    """Read server-sent events with one `data` line each and LF line ends, as the streams here are."""
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


FLOORS: Final[Mapping[str, Callable[[Iterable[bytes]], int]]] = {
    "anthropic-messages": sse,
    "openai-chat": sse,
    "openai-responses": sse,
}
"""A row for each api."""
