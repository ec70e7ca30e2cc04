"""Split response bodies into frames, with one module per framing; all implement the interface below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

__all__ = ["MAX_FRAME_BYTES", "Frame", "Framing", "HeaderValue"]

MAX_FRAME_BYTES = 64 * 1024 * 1024
"""The maximum size of a frame; larger frames are a fault. The largest frame in recordings is a base64 image
of a few MiB; the limit only keeps a body without line ends from filling memory.
"""


HeaderValue = bool | int | bytes | str


class Frame(Struct, frozen=True):
    """One payload with its position in the body.

    `body[start:end]` contains the bytes of the frame: for SSE, its lines with their line ends, without the
    blank line that closes it. `event` is the event name from the framing, or None. `headers` are the frame's
    headers, or None if the framing has no headers.
    """

    data: bytes
    event: bytes | None
    start: int
    end: int
    headers: Mapping[str, HeaderValue] | None = None


class Framing(Protocol):
    """Splits a body into frames, regardless of the chunk sizes, in linear time.

    `fault` is the reason framing stopped, or None. `recognised` says whether the body starts in this
    framing: it is False for an HTML page, a JSON error document or an empty body. `left_over` says whether
    the body ended inside a frame. Both are final after `end`.
    """

    fault: str | None
    recognised: bool
    left_over: bool

    def receive(self, data: bytes) -> list[Frame]:
        """Add the next bytes; return the frames that they complete."""
        ...

    def end(self) -> list[Frame]:
        """End the body; return the last frame if only its terminator is missing."""
        ...
