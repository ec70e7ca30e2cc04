"""Bytes of a response body in, frames out: one module a framing, all with the interface below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple, Protocol, cast

__all__ = ["MAX_FRAME_BYTES", "Frame", "Framing", "HeaderValue", "frame_of"]

MAX_FRAME_BYTES = 64 * 1024 * 1024
"""A frame that grows beyond this is a fault. The largest frame seen in recordings is a base64 image
of a few MiB; the bound only keeps a body without line ends from filling the memory."""


HeaderValue = bool | int | bytes | str


class Frame(NamedTuple):
    """One payload as it lay in the body.

    `body[start:end]` are the bytes of the frame: for SSE its lines with their line ends, without
    the blank line that closes it. `event` is the name that the framing itself gives, or None.
    `headers` are those of a framing that has some for each frame, else None.
    """

    data: bytes
    event: bytes | None
    start: int
    end: int
    headers: Mapping[str, HeaderValue] | None = None


frame_of: Final = cast(
    "Callable[[tuple[bytes, bytes | None, int, int, Mapping[str, HeaderValue] | None]], Frame]",
    partial(tuple.__new__, Frame),
)
"""A frame from a tuple of all its fields, in half the time of the class: a long answer has thousands."""


class Framing(Protocol):
    """Cuts a body into frames, whatever the sizes of its chunks; time is linear in the bytes.

    `fault` says why nothing more can be framed, else it is None. `recognised` is whether the body
    began as one of this framing: False for an HTML page, a JSON error document or an empty body. It
    is final after `end`.
    """

    fault: str | None
    recognised: bool

    def receive(self, data: bytes) -> list[Frame]:
        """Take the next bytes; return the frames that they complete."""
        ...

    def end(self) -> list[Frame]:
        """Take the end of the body; return the last frame, if it is whole but for its end mark."""
        ...
