"""The two framings of Gemini: server-sent events with `alt=sse`, otherwise one JSON array.

The first byte decides, not the content type, because gateways send each framing under the other's content
type. An error after the first chunk is often a bare JSON document instead of an event, spread over several
lines and sometimes in its own array; google-genai reads it too.

Source: https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent and
https://github.com/googleapis/python-genai/blob/main/google/genai/_api_client.py
"""

from __future__ import annotations

from typing import Final

from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.json_array import JsonArrayFraming
from streamconform_reference.framing.sse import SseFraming

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"
_LONGEST_HEAD: Final = 1024  # whitespace before the deciding byte


class GoogleSseFraming(SseFraming):
    """Server-sent events, possibly interspersed with JSON documents whose lines have no `data:`.

    A body that starts with such a document is an error document, not a stream.
    """

    _in_document = False

    def _read_field(self, content: bytes) -> None:
        if not self._size:
            self._in_document = self.recognised and content[:1] in (b"{", b"[")
        if self._in_document:
            self._add_data(content)
        else:
            super()._read_field(content)


class GoogleFraming:
    """A framing that is chosen by the first byte; see `streamconform_reference.framing.Framing`."""

    def __init__(self) -> None:
        """Start at the beginning of a body."""
        self.fault: str | None = None
        self.recognised = False
        self.left_over = False
        self._head = b""
        self._chosen: Framing | None = None

    def receive(self, data: bytes) -> list[Frame]:
        """Add the next bytes; return the frames that they complete."""
        if self._chosen is None:
            self._head += data
            head = self._head.removeprefix(_BOM).lstrip(_BLANK)
            if (not head or _BOM.startswith(head)) and len(self._head) < _LONGEST_HEAD:
                return []
            data = self._head
        return self._receive(self._choose(), data)

    def end(self) -> list[Frame]:
        """End the body; return the last frame if only its terminator is missing."""
        frames = [] if self._chosen else self._receive(self._choose(), self._head)
        chosen = self._choose()
        frames += chosen.end()
        self.fault, self.recognised = chosen.fault, chosen.recognised
        self.left_over = chosen.left_over
        return frames

    def _choose(self) -> Framing:
        if self._chosen is None:
            array = self._head.removeprefix(_BOM).lstrip(_BLANK).startswith(b"[")
            self._chosen = JsonArrayFraming() if array else GoogleSseFraming()
        return self._chosen

    def _receive(self, chosen: Framing, data: bytes) -> list[Frame]:
        frames = chosen.receive(data)
        self.fault, self.recognised = chosen.fault, chosen.recognised
        return frames
