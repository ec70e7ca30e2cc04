"""One JSON array that comes in pieces: bytes in, one frame for each of its elements.

Source: https://www.rfc-editor.org/rfc/rfc8259 section 5

- Network reads end anywhere, so brackets are counted, and none of those in strings.
- An object or array is a frame at its closing bracket: waiting for the comma would hold it back.
- Elements are found, not checked: whether one is JSON, its reader sees. Commas too many or missing
  change nothing, and an array behind the array goes on with it (an error after the fact).
- At the end of the body the closing bracket may be missing; an element that is not whole is cut off.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from streamconform_reference.json_text.codec import is_json

from . import MAX_FRAME_BYTES, Frame

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"

# What is skipped in one go. Strings are, with all that is no bracket, up to the next bracket; likewise
# to the end of an element without brackets. The others lead to the end of a string, to the array, and
# to its next element. No quantifier is possessive: Python 3.11 before 3.11.5 matches those wrongly, and
# since no two parts can match the same byte, nothing is tried twice anyway.
_STRING: Final = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_PLAIN: Final = rb'[^"{}\[\]]*(?:%s[^"{}\[\]]*)*' % _STRING
_TO_BRACKET: Final = re.compile(_PLAIN, re.DOTALL)
_TO_SEPARATOR: Final = re.compile(rb'[^",{\[\]]*(?:%s[^",{\[\]]*)*' % _STRING, re.DOTALL)
_TO_QUOTE: Final = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_TO_HEAD: Final = re.compile(rb"[ \t\r\n]*")
_TO_ELEMENT: Final = re.compile(rb"[ \t\r\n,]*")

_LEVELS: Final = 10


@cache
def _whole() -> re.Pattern[bytes]:
    """Return what matches an object or array with at most so many levels of them inside.

    An element that has come whole is found with it in one go, many times faster than by its brackets.
    It is long to compile, and most bodies are no arrays.
    """
    pattern = rb"[{\[]%s[}\]]" % _PLAIN
    for _ in range(_LEVELS):
        pattern = rb"[{\[]%s(?:%s%s)*[}\]]" % (_PLAIN, pattern, _PLAIN)
    return re.compile(pattern, re.DOTALL)


class JsonArrayFraming:
    """Framing of a streamed JSON array; see `streamconform_reference.framing.Framing`.

    `body[start:end]` of a frame is its data: the element without commas and white space around it.
    """

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        """Begin at the first byte of a body."""
        self.fault: str | None = None
        self.recognised = False
        self._max = max_frame_bytes
        self._begun = False  # whether anything but white space came
        self._buffer = bytearray()  # from the element that is being read
        self._offset = 0  # of the buffer in the body
        self._position = 0  # in the buffer, of what was not looked at
        self._inside = False  # the array
        self._start: int | None = None  # in the buffer, of the element that is being read
        self._depth = 0  # of brackets in that element
        self._in_string = False

    def receive(self, data: bytes) -> list[Frame]:
        """Take the next bytes; return the elements that end in them."""
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
        """Take the end of the body; return the last element, if it is whole."""
        if self.fault or self._start is None or not is_json(bytes(self._buffer)):
            return []
        self._position = len(self._buffer)
        return [self._cut(self._start)]

    def _begin(self) -> bool:
        """Look at what the body begins with; return whether that is an array."""
        if not self._offset:
            if len(self._buffer) < len(_BOM) and _BOM.startswith(self._buffer):
                return False
            if self._buffer.startswith(_BOM):
                self._position = len(_BOM)
        self._position = _end(_TO_HEAD, self._buffer, self._position)
        head = self._buffer[self._position : self._position + 1]
        self._begun = bool(head)
        self.recognised = head == b"["
        return self.recognised

    def _read(self) -> list[Frame]:
        frames: list[Frame] = []
        while self._begins() and (self._is_whole() or self._ends()):
            frames.append(self._cut(self._start or 0))
            self._start = None
            if len(frames[-1].data) > self._max:
                frames.pop()
                self._overflow()
                break
        return frames

    def _begins(self) -> bool:
        """Go to the next element, if none is being read; return whether there is one."""
        while self._start is None and self._position < len(self._buffer):
            if not self._inside:
                at = self._buffer.find(b"[", self._position)
                if at < 0:
                    self._position = len(self._buffer)
                    break
                self._inside = True
                self._position = at + 1
            self._position = _end(_TO_ELEMENT, self._buffer, self._position)
            if self._buffer[self._position : self._position + 1] == b"]":
                self._inside = False
                self._position += 1
            elif self._position < len(self._buffer):
                self._start = self._position
        return self._start is not None

    def _is_whole(self) -> bool:
        """Go to the end of an element that has just begun, if all of it has come already."""
        if self._position != self._start:
            return False
        self._position = _end(_whole(), self._buffer, self._position)
        return self._position != self._start

    def _ends(self) -> bool:
        """Go on in the element; return whether it ends there."""
        buffer, at, depth = self._buffer, self._position, self._depth
        ended = False
        while not ended and at < len(buffer):
            if self._in_string:
                at = _end(_TO_QUOTE, buffer, at)
                if buffer[at : at + 1] != b'"':
                    break  # a backslash waits for what it escapes
                self._in_string = False
                at += 1
            at = _end(_TO_BRACKET if depth else _TO_SEPARATOR, buffer, at)
            found = buffer[at : at + 1]
            if found == b'"':
                self._in_string = True
                at += 1
            elif found and not depth and at != self._start:
                ended = True
            elif found:
                depth += 1 if found in b"{[" else -1
                ended = not depth
                at += 1
        self._position, self._depth = at, depth
        return ended

    def _cut(self, start: int) -> Frame:
        data = bytes(self._buffer[start : self._position]).rstrip(_BLANK)
        return Frame(data, None, self._offset + start, self._offset + start + len(data))

    def _overflow(self) -> None:
        self.fault = f"a frame is longer than {self._max} bytes"
        self._buffer.clear()
        self._start = None


def _end(skipped: re.Pattern[bytes], buffer: bytearray, start: int) -> int:
    match = skipped.match(buffer, start)
    return match.end() if match else start
