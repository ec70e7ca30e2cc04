"""Framing of a JSON array that arrives in pieces: one frame per element.

Source: https://www.rfc-editor.org/rfc/rfc8259 section 5

- Chunks may end anywhere, so brackets are counted, except those in strings.
- An object or array becomes a frame at its closing bracket, because waiting for the comma would delay it.
- Elements are located but not validated, because their reader parses them. Extra and missing commas are
  ignored, and a second array continues the first (for example a late error).
- At the end of the body, the closing bracket may be missing; a truncated element is dropped.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from streamconform_reference.json_text.codec import is_json

from . import MAX_FRAME_BYTES, Frame

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"

# Patterns that skip many bytes in one step: strings and other text up to the next bracket, the same up to the
# end of an element without brackets, and up to the end of a string, of the array, and of the gap before the
# next element. No quantifier is possessive, because Python 3.11 before 3.11.5 matches those wrongly, and no
# two parts can match the same byte, so there is no backtracking anyway.
_STRING: Final = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_PLAIN: Final = rb'[^"{}\[\]]*(?:%s[^"{}\[\]]*)*' % _STRING
_TO_BRACKET: Final = re.compile(_PLAIN, re.DOTALL)
_TO_SEPARATOR: Final = re.compile(rb'[^",{\[\]]*(?:%s[^",{\[\]]*)*' % _STRING, re.DOTALL)
_TO_QUOTE: Final = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_TO_HEAD: Final = re.compile(rb"[ \t\r\n]*")
_TO_ELEMENT: Final = re.compile(rb"[ \t\r\n,]*")

_LEVELS: Final = 10


@cache
def _whole_element_pattern() -> re.Pattern[bytes]:
    """Return the pattern for an object or array with up to `_LEVELS` nested levels.

    Matching a complete element is many times faster than counting its brackets. The pattern is compiled on
    first use, because that is slow and most bodies are not arrays.
    """
    pattern = rb"[{\[]%s[}\]]" % _PLAIN
    for _ in range(_LEVELS):
        pattern = rb"[{\[]%s(?:%s%s)*[}\]]" % (_PLAIN, pattern, _PLAIN)
    return re.compile(pattern, re.DOTALL)


class JsonArrayFraming:
    """Framing of a streamed JSON array; see `streamconform_reference.framing.Framing`.

    A frame's `body[start:end]` is its data: the element without the surrounding commas and whitespace.
    """

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        """Start at the beginning of a body."""
        self.fault: str | None = None
        self.recognised = False
        self.left_over = False
        self._max = max_frame_bytes
        self._begun = False  # whether anything but whitespace has arrived
        self._buffer = bytearray()  # starts at the current element
        self._offset = 0  # of the buffer in the body
        self._position = 0  # the position of the first unread byte in the buffer
        self._inside = False  # the array
        self._start: int | None = None  # the position of the current element in the buffer
        self._depth = 0  # the number of open brackets in that element
        self._in_string = False

    def receive(self, data: bytes) -> list[Frame]:
        """Add the next bytes; return the elements that they complete."""
        if self.fault or not data or (self._begun and not self.recognised):
            return []
        self._buffer += data
        frames = self._read() if self._begun or self._begin() else []
        done = self._position if self._start is None else self._start
        if done:
            del self._buffer[:done]
            self._offset += done
            self._position -= done
            self._start = None if self._start is None else 0
        if len(self._buffer) > self._max:
            self._overflow()
        return frames

    def end(self) -> list[Frame]:
        """End the body; return the last element if it is complete."""
        if self.fault or self._start is None:
            return []
        if not is_json(bytes(self._buffer)):
            self.left_over = True
            return []
        self._position = len(self._buffer)
        return [self._cut(self._start)]

    def _begin(self) -> bool:
        """Return whether the body starts with an array."""
        if not self._offset:
            if len(self._buffer) < len(_BOM) and _BOM.startswith(self._buffer):
                return False
            if self._buffer.startswith(_BOM):
                self._position = len(_BOM)
        self._position = _match_end(_TO_HEAD, self._buffer, self._position)
        head = self._buffer[self._position : self._position + 1]
        self._begun = bool(head)
        self.recognised = head == b"["
        return self.recognised

    def _read(self) -> list[Frame]:
        frames: list[Frame] = []
        while self._find_element() and (self._skip_whole_element() or self._read_element()):
            frames.append(self._cut(self._start or 0))
            self._start = None
            if len(frames[-1].data) > self._max:
                frames.pop()
                self._overflow()
                break
        return frames

    def _find_element(self) -> bool:
        """Move to the next element unless already inside one; return whether an element was found."""
        while self._start is None and self._position < len(self._buffer):
            if not self._inside:
                position = self._buffer.find(b"[", self._position)
                if position < 0:
                    self._position = len(self._buffer)
                    break
                self._inside = True
                self._position = position + 1
            self._position = _match_end(_TO_ELEMENT, self._buffer, self._position)
            if self._buffer[self._position : self._position + 1] == b"]":
                self._inside = False
                self._position += 1
            elif self._position < len(self._buffer):
                self._start = self._position
        return self._start is not None

    def _skip_whole_element(self) -> bool:
        """Move to the end of an element that has just started, if the buffer contains all of it."""
        if self._position != self._start:
            return False
        self._position = _match_end(_whole_element_pattern(), self._buffer, self._position)
        return self._position != self._start

    def _read_element(self) -> bool:
        """Continue reading the element; return whether its end was reached."""
        buffer, position, depth = self._buffer, self._position, self._depth
        is_ended = False
        while not is_ended and position < len(buffer):
            if self._in_string:
                position = _match_end(_TO_QUOTE, buffer, position)
                if buffer[position : position + 1] != b'"':
                    break  # a backslash waits for the character that it escapes
                self._in_string = False
                position += 1
            position = _match_end(_TO_BRACKET if depth else _TO_SEPARATOR, buffer, position)
            mark = buffer[position : position + 1]
            if mark == b'"':
                self._in_string = True
                position += 1
            elif mark and not depth and position != self._start:
                is_ended = True
            elif mark:
                depth += 1 if mark in b"{[" else -1
                is_ended = not depth
                position += 1
        self._position, self._depth = position, depth
        return is_ended

    def _cut(self, start: int) -> Frame:
        data = bytes(self._buffer[start : self._position]).rstrip(_BLANK)
        return Frame(data, None, self._offset + start, self._offset + start + len(data))

    def _overflow(self) -> None:
        self.fault = f"a frame is longer than {self._max} bytes"
        self._buffer.clear()
        self._start = None


def _match_end(pattern: re.Pattern[bytes], buffer: bytearray, start: int) -> int:
    match = pattern.match(buffer, start)
    return match.end() if match else start
