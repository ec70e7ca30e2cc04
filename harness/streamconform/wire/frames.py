"""`Frame`: one SSE event, NDJSON line, array element or binary message in a body."""

from __future__ import annotations

from msgspec import Struct


class Frame(Struct, frozen=True):
    """One frame of a body, `body[start:end]`. Frames are numbered from 0 in body order.

    `payload` is the text that a parser sees. `value` is the payload's span in the body, which allows
    replacing it, or None if the payload is not contiguous there. In `invoke_stream`, the bytes in that span
    may be base64.
    """

    start: int
    end: int
    payload: bytes
    value: tuple[int, int] | None
    event: str | None = None
    """The event name, if the frame has one."""
