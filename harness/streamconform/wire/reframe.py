"""Restore the framing of a stream that was stored as one JSON payload per line. Pure.

Many projects store a stream as `.jsonl`, without its SSE framing. The payloads' bytes stay the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from streamconform.wire import eventstream, json_text, sse

Writer = Callable[[Iterable[bytes]], bytes]
"""A function that puts payloads into frames and returns the body."""


class NotPayloadError(ValueError):
    """A line is not a frame's payload."""


def restore_framing(text: bytes, write: Writer) -> bytes:
    """Return the body whose payloads are the lines of `text`, framed by `write`; empty lines are ignored.

    Raises a `NotPayloadError` that gives the line number.
    """
    lines = [(n, line) for n, line in enumerate(text.split(b"\n"), start=1) if line.strip()]
    if not lines:
        raise NotPayloadError("the file has no lines")
    for number, line in lines:
        if read_type(line) is None:
            raise NotPayloadError(f"line {number} is not a JSON object")
    return write(line.rstrip(b"\r") for _, line in lines)


def read_type(payload: bytes) -> str | None:
    """Return a payload's `type`: empty if it has none, None if the payload is not an object."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    type_ = value.get("type")
    return type_ if isinstance(type_, str) else ""


def write_named_events(payloads: Iterable[bytes]) -> bytes:
    """Return SSE events, each named after the type of its payload."""
    return b"".join(sse.encode_event(payload, read_type(payload) or None) for payload in payloads)


def write_events(payloads: Iterable[bytes]) -> bytes:
    """Return SSE events without names."""
    return b"".join(sse.encode_event(payload, None) for payload in payloads)


def write_events_and_done(payloads: Iterable[bytes]) -> bytes:
    """Return SSE events without names, followed by `[DONE]`."""
    return write_events(payloads) + sse.encode_event(b"[DONE]", None)


def write_lines(payloads: Iterable[bytes]) -> bytes:
    """Return NDJSON lines."""
    return b"".join(payload + b"\n" for payload in payloads)


def write_messages(payloads: Iterable[bytes]) -> bytes:
    """Return binary messages from payloads of the form `{event name: message payload}`."""
    return b"".join(
        eventstream.encode_event(*_read_member(number, payload)) for number, payload in enumerate(payloads, 1)
    )


def _read_member(number: int, payload: bytes) -> tuple[bytes, str]:
    """Return the source text of the only value in `payload`, and the name of the member that contains it."""
    root = json_text.parse(payload)
    if root is None or len(root.keys) != 1:
        raise NotPayloadError(
            f"payload {number} is not an object with one key; expected {{event name: payload}}"
        )
    value = root.items[0]
    return payload[value.start : value.end], json.loads(payload[slice(*root.keys[0])])
