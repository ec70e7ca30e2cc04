"""A frame: what one SSE event, NDJSON line, array element or binary message is in the bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a body, `body[start:end]`, with the JSON text in it.

    `payload` is the text a parser sees; `value` is where it stands in the body if it stands there in
    one piece, so that it can be replaced, else None. Frames are numbered from 0 in the order of the body.
    """

    start: int
    end: int
    payload: bytes
    value: tuple[int, int] | None
    event: str | None = None
    """The SSE event name, where one is given."""
