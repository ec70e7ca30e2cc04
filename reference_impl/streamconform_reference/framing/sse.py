"""Framing of server-sent events: one frame per event with data.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

- Line ends are LF, CRLF and CR. U+2028, U+2029 and U+0085 are text, so lines are split as bytes, before
  decoding; bytes.splitlines, unlike str.splitlines, splits only at these three line ends.
- A CR at the end of one chunk and an LF at the start of the next are a single line end. Treat the line
  as complete at the CR: waiting for the next chunk would delay the last event of a CR-only stream.
- An event whose data is empty is not a frame. According to the standard, `data:` would dispatch it, but
  gateways send that as a heartbeat.
- Deviation: the standard discards an event at the end of the body if its blank line is missing. Gateways send
  the terminal event that way, so it is delivered if its data is complete: JSON or `[DONE]`.
"""

from __future__ import annotations

import re
from typing import Final

from streamconform_reference.json_text.codec import is_json

from . import MAX_FRAME_BYTES, Frame

_BOM: Final = b"\xef\xbb\xbf"
_BLANK_LINE: Final = b"\n\n"
_LF: Final = 0x0A
_CR: Final = 0x0D
_FIELDS: Final = (b"data", b"event", b"id", b"retry")
_DONE: Final = b"[DONE]"
# Only from the start of a line, so that no byte is looked at more than twice.
_EVENT: Final = re.compile(rb"^(?:event: ([^\n]+)\n)?data: ([^\n]+)\n\n", re.MULTILINE)


class SseFraming:
    """Framing of `text/event-stream`; see `streamconform_reference.framing.Framing`."""

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        """Start at the beginning of a body."""
        self.fault: str | None = None
        self.recognised = False
        self.left_over = False
        self._max = max_frame_bytes
        self._line = bytearray()  # the line whose end has not arrived
        self._tail = b""  # the beginning of an event, which followed the last whole event of a chunk
        self._after_cr = False
        self._seen_line = False
        self._offset = 0  # of the next line
        self._start: int | None = None  # of the current event
        self._data: bytes | bytearray = b""  # the data lines of the current event, joined
        self._size = 0  # of the data lines, each with its line end
        self._event: bytes | None = None

    def receive(self, data: bytes) -> list[Frame]:
        """Add the next bytes; return the frames whose blank line they contain."""
        if self._after_cr and data:
            self._after_cr = False
            if data[0] == _LF:
                data = data[1:]
                self._offset += 1
        if self.fault or not data:
            return []
        if self._tail:
            data = self._tail + data
            self._tail = b""
        if _LF not in data and _CR not in data:  # fast path: most chunks, if they are very small
            self._line += data
            if len(self._line) > self._max:
                self._overflow()
            return []
        if _CR in data or len(data) > self._max:
            return self._receive_lines(data)
        return self._receive_chunk(data)

    def _receive_chunk(self, data: bytes) -> list[Frame]:
        """Read a chunk with LF line ends.

        Almost every chunk has whole events, after the end of an earlier event and before the start of a later
        one. A byte order mark is part of the first line.
        """
        head = 0
        if self._start is not None or self._line or (not self._offset and data[0] == _BOM[0]):
            head = data.find(_BLANK_LINE) + len(_BLANK_LINE)
            if head < len(_BLANK_LINE):
                return self._receive_lines(data)
        frames = self._receive_lines(data[:head]) if head else []
        if self.fault:
            return frames
        tail = data.rfind(_BLANK_LINE, head)
        if tail >= 0:
            frames += self._receive_events(data[head : tail + len(_BLANK_LINE)])
            head = tail + len(_BLANK_LINE)
        if head:
            # The next chunk probably completes this event, which is then read with the others. Otherwise, the
            # event is read line by line, so that no byte is joined twice.
            self._tail = data[head:]
        else:
            frames += self._receive_lines(data)
        return frames

    def end(self) -> list[Frame]:
        """End the body; return the last event if only its blank line is missing."""
        if self.fault:
            return []
        frames = self._receive_lines(self._tail) if self._tail else []
        if not self._seen_line:
            self.recognised = _may_be_field(bytes(self._line))
        frames += self._read([bytes(self._line)] if self._line else [])
        self._line.clear()
        data = bytes(self._data)
        if data and (data.strip() == _DONE or is_json(data)):
            frames.append(Frame(data, self._event, self._start or 0, self._offset))
        else:
            self.left_over = bool(data) or self._event is not None
        self._data = b""
        return frames

    def _receive_events(self, data: bytes) -> list[Frame]:
        """Read whole events with LF line ends.

        Reading lines takes most of the parser's time for Anthropic and Cohere (`make bench`), so the two
        forms that providers send are read in one step: one data line, either alone or after an event line.
        """
        frames: list[Frame] = []
        start = self._offset
        for name, payload in _EVENT.findall(data):
            end = start + len(payload) + 7
            if name:
                end += len(name) + 8
            frames.append(Frame(payload, name or None, start, end))
            start = end + 1
        # The expression skips anything else, and then the lengths do not add up.
        if start - self._offset != len(data):
            return self._receive_lines(data)
        self._offset = start
        self.recognised = self._seen_line = True
        return frames

    def _receive_lines(self, data: bytes) -> list[Frame]:
        """Read any bytes, line by line."""
        lines = data.splitlines(keepends=True)
        unended = b"" if data[-1] in (_LF, _CR) else lines.pop()
        if lines and self._line:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        self._line += unended
        self._after_cr = data[-1] == _CR
        frames = self._read(lines)
        if len(self._line) > self._max:
            self._overflow()
        return frames

    def _read(self, lines: list[bytes]) -> list[Frame]:
        frames: list[Frame] = []
        if lines and not self._offset and lines[0].startswith(_BOM):
            lines[0] = lines[0][len(_BOM) :]
            self._offset = len(_BOM)
        largest, offset = self._max, self._offset
        for line in lines:
            content = line.rstrip(b"\r\n")  # a line has a single line end, and contains no other CR or LF
            if content:
                if self._start is None:
                    self._start = offset
                if content.startswith(b"data: "):
                    self._add_data(content[6:])
                else:
                    self._read_field(content)
                if len(content) > largest or self._size > largest:
                    self._overflow()
                    break
                self._seen_line = True
            elif self._start is not None:
                # Each data line counts one more than its length, so 1 means a single empty line, a heartbeat.
                if self._size > 1:
                    frames.append(Frame(bytes(self._data), self._event, self._start, offset))
                self._data, self._size, self._event, self._start = b"", 0, None, None
            offset += len(line)
        self._offset = offset
        return frames

    def _add_data(self, value: bytes) -> None:
        if not self._size:
            self._data = value
        else:
            # Joined as they arrive, because a list of very short lines takes 16 times their memory.
            if isinstance(self._data, bytes):
                self._data = bytearray(self._data)
            self._data += b"\n"
            self._data += value
        self._size += len(value) + 1
        self.recognised = True

    def _read_field(self, content: bytes) -> None:
        name, _, value = content.partition(b":")
        if name == b"event":
            self._event = value.removeprefix(b" ")
        elif name == b"data":
            self._add_data(value.removeprefix(b" "))
        if not self._seen_line and (not name or name in _FIELDS):
            self.recognised = True

    def _overflow(self) -> None:
        self.fault = f"a frame is longer than {self._max} bytes"
        self._line.clear()
        self._data = b""


def _may_be_field(line: bytes) -> bool:
    """Whether `line`, a body that is a single unterminated line, is a field or the start of one."""
    if not line:
        return False
    name, colon, _ = line.removeprefix(_BOM).partition(b":")
    if colon:
        return not name or name in _FIELDS
    return any(known.startswith(name) for known in (*_FIELDS, _BOM))
