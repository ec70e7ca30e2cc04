"""Split and write SSE bodies (https://html.spec.whatwg.org/multipage/server-sent-events.html).

The harness uses this implementation, which reads a complete body at once; the parsers under test read the
same format incrementally.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streamconform.wire import json_text
from streamconform.wire.frames import Frame

BOM = b"\xef\xbb\xbf"


class SseLine(NamedTuple):
    """A line: `body[start:stop]` is its text; `body[stop:end]` is its line ending (empty at the end)."""

    start: int
    stop: int
    end: int


def split_lines(body: bytes, position: int = 0) -> Iterator[SseLine]:
    """Yield the lines of `body` from `position`, the start of a line. They end with LF, CR LF, or CR."""
    if not position and body.startswith(BOM):
        position = len(BOM)
    # This is the method of `bytes`; that of `str` splits at more characters.
    for line in body[position:].splitlines(keepends=True):
        end = position + len(line)
        yield SseLine(position, position + len(line.rstrip(b"\r\n")), end)
        position = end


def split(body: bytes) -> tuple[Frame, ...]:
    """Return the events in `body` that contain data.

    An unterminated event at the end of the body is included if its data is JSON or `[DONE]`; otherwise, the
    body was cut off inside that event.
    """
    frames = []
    position = 0
    if b"\r" not in body and not body.startswith(BOM):
        for event in body.split(b"\n\n")[:-1]:
            end = position + len(event) + 2
            frame = _read_simple_event(event, position, end)
            if frame is None:
                break
            frames.append(frame)
            position = end
    block: list[SseLine] = []
    for line in split_lines(body, position):
        if line.start != line.stop:
            block.append(line)
            continue
        frame = _read_event(body, block, line.end)
        if frame is not None:
            frames.append(frame)
        block = []
    last = _read_event(body, block, len(body))
    if last is not None and (last.payload.strip() == b"[DONE]" or json_text.is_json(last.payload)):
        frames.append(last)
    return tuple(frames)


def _read_simple_event(event: bytes, start: int, end: int) -> Frame | None:
    """Return an event with one data line, which an event line may precede; None if it has another form.

    Almost all events have one of these two forms, and reading them line by line takes several times as long.
    """
    name, payload = None, event[6:]
    if not event.startswith(b"data: "):
        head, _, payload = event.partition(b"\ndata: ")
        if not head.startswith(b"event: ") or b"\n" in head:
            return None
        name = head[7:].decode("utf-8", "replace")
    if not payload or b"\n" in payload:
        return None
    return Frame(start, end, payload, (end - 2 - len(payload), end - 2), name)


def encode_event(payload: bytes, name: str | None) -> bytes:
    """Return one event with LF line endings."""
    name_line = b"" if name is None else b"event: " + name.encode() + b"\n"
    return name_line + b"data: " + payload + b"\n\n"


def _read_event(body: bytes, block: list[SseLine], end: int) -> Frame | None:
    name = None
    values: list[tuple[int, int]] = []
    for line in block:
        # A comment begins with a colon, so its field name is empty and matches neither.
        field, _, text = body[line.start : line.stop].partition(b":")
        start = line.stop - len(text) + text.startswith(b" ")
        if field == b"data":
            values.append((start, line.stop))
        elif field == b"event":
            name = body[start : line.stop].decode("utf-8", "replace")
    payload = b"\n".join(body[start:stop] for start, stop in values)
    # By the standard, an empty `data:` line is dispatched as an event; gateways send it as a heartbeat
    # without a payload.
    if not payload:
        return None
    # If there are several `data` lines, the LF that joins them replaces other bytes of the body.
    value = values[0] if len(values) == 1 else None
    return Frame(block[0].start, end, payload, value, name)
