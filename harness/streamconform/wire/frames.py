"""`Frame`: one SSE event, NDJSON line, array element or binary message in a body."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a body, `body[start:end]`. Frames are numbered from 0 in the order of the body.

    `payload` is the text that a parser sees. `value` is its span in the body, so that it can be replaced, or
    None if the payload is not contiguous there. In `invoke_stream`, the bytes in that span may be base64.
    """

    start: int
    end: int
    payload: bytes
    value: tuple[int, int] | None
    event: str | None = None
    """The name of the event, if the frame has one."""
