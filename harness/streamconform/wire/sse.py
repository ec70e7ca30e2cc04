"""SSE bodies as frames: `split` a whole body, and the lines in it.

This is the harness's own reading of https://html.spec.whatwg.org/multipage/server-sent-events.html,
whole body at once. Parsers that are judged read the same format incrementally.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streamconform.wire import json_text
from streamconform.wire.frames import Frame

BOM = b"\xef\xbb\xbf"


class SseLine(NamedTuple):
    """`body[start:stop]` is the line, `body[stop:end]` its end (empty at the end of the body)."""

    start: int
    stop: int
    end: int


def split_lines(body: bytes) -> Iterator[SseLine]:
    """Yield the lines of `body`; ends are LF, CR LF and CR, nothing else."""
    position = len(BOM) if body.startswith(BOM) else 0
    for line in body[position:].splitlines(keepends=True):  # of bytes: str knows more line ends
        end = position + len(line)
        yield SseLine(position, position + len(line.rstrip(b"\r\n")), end)
        position = end


def split(body: bytes) -> tuple[Frame, ...]:
    """Return the events of `body` that carry data.

    An event without its blank line at the end of the body counts if its data is JSON or `[DONE]`;
    else the body was cut inside it, and it is left out.
    """
    frames = []
    block: list[SseLine] = []
    for line in split_lines(body):
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


def encode_event(payload: bytes, name: str | None) -> bytes:
    """Return the bytes of one event with LF line ends."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + payload + b"\n\n"


def _read_event(body: bytes, block: list[SseLine], end: int) -> Frame | None:
    name = None
    values: list[tuple[int, int]] = []
    for line in block:
        field, _, text = body[line.start : line.stop].partition(b":")
        start = line.stop - len(text) + text.startswith(b" ")
        if field == b"data":
            values.append((start, line.stop))
        elif field == b"event":
            name = body[start : line.stop].decode("utf-8", "replace")
    payload = b"\n".join(body[start:stop] for start, stop in values)
    if not payload:
        return None
    value = values[0] if len(values) == 1 else None
    return Frame(block[0].start, end, payload, value, name)
