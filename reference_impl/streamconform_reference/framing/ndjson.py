"""Framing of JSON lines: one frame per non-blank line.

Source: https://github.com/ndjson/ndjson-spec

- A line ends with LF. A CR before it is JSON whitespace, like spaces and tabs; U+2028, U+2029 and U+0085 are
  text.
- The first non-blank line identifies the body. If it is not a JSON object, for example in an HTML
  page or an error document that spans several lines, the body is not in this framing and has no frames.
- Deviation: an unterminated final line is a frame if it is complete JSON, because servers omit its LF.
"""

from __future__ import annotations

from typing import Final

from streamconform_reference.json_text.codec import is_json

from . import MAX_FRAME_BYTES, Frame

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"
_BRACE: Final = 0x7B


class NdjsonFraming:
    """Framing of `application/x-ndjson`; see `streamconform_reference.framing.Framing`.

    A frame's `body[start:end]` is its data: the line without surrounding whitespace.
    """

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        """Start at the beginning of a body."""
        self.fault: str | None = None
        self.recognised = False
        self.left_over = False
        self._max = max_frame_bytes
        self._line = bytearray()  # the line whose end has not arrived
        self._seen_line = False
        self._offset = 0  # of the next line

    def receive(self, data: bytes) -> list[Frame]:
        """Add the next bytes; return the frames whose line end they contain."""
        if self.fault or not data or (self._seen_line and not self.recognised):
            return []
        frames: list[Frame] = []
        unended = data
        if b"\n" in data:  # most chunks, if they are very small, end no line
            lines = data.split(b"\n")
            unended = lines.pop()
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
            frames = self._read(lines)
        self._line += unended
        if len(self._line) > self._max:
            self._overflow()
        return frames

    def end(self) -> list[Frame]:
        """End the body; return the last line if only its line end is missing."""
        line = bytes(self._line)
        self._line.clear()
        if self.fault or (self._seen_line and not self.recognised):
            return []
        if line and is_json(line.removeprefix(b"" if self._offset else _BOM)):
            return self._read([line])
        self.left_over = bool(line.strip())
        if not self._seen_line:  # a truncated object is in this framing; anything else is not
            self.recognised = line.removeprefix(_BOM).lstrip(_BLANK).startswith(b"{")
        return []

    def _read(self, lines: list[bytes]) -> list[Frame]:
        frames: list[Frame] = []
        if not self._offset and lines[0].startswith(_BOM):
            lines[0] = lines[0][len(_BOM) :]
            self._offset = len(_BOM)
        following = self._offset
        for line in lines:
            start, following = following, following + len(line) + 1
            data = line
            # Servers usually send lines without whitespace around them, which need no stripping.
            if not line or line[0] != _BRACE or line[-1] in _BLANK:
                data = line.strip(_BLANK)
                start += len(line) - len(line.lstrip(_BLANK))
            if len(line) > self._max:
                self._overflow()
                break
            if data:
                if not self._seen_line:
                    self._seen_line = True
                    self.recognised = data[0] == _BRACE and is_json(data)
                    if not self.recognised:
                        break
                frames.append(Frame(data, None, start, start + len(data)))
        self._offset = following
        return frames

    def _overflow(self) -> None:
        self.fault = f"a frame is longer than {self._max} bytes"
        self._line.clear()
