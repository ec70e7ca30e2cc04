"""The framings of Cohere Chat: v2 sends server-sent events; v1 sends JSON lines or, on request, events.

The first byte decides. The content type is supposed to indicate the framing (`text/event-stream`, or
`application/stream+json` for v1), but gateways rewrite it; a leading `{` is never changed.
"""

from __future__ import annotations

from typing import Final

from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.ndjson import NdjsonFraming
from streamconform_reference.framing.sse import SseFraming

_BOM: Final = b"\xef\xbb\xbf"
_OBJECT: Final = 0x7B


class CohereFraming:
    """The framing of both versions; see `streamconform_reference.framing.Framing`."""

    def __init__(self) -> None:
        """Start at the beginning of a body."""
        self.fault: str | None = None
        self.recognised = False
        self.left_over = False
        self._framing: Framing | None = None
        self._head = bytearray()  # whitespace, and a possible byte order mark

    def receive(self, data: bytes) -> list[Frame]:
        """Add the next bytes; return the frames that they complete."""
        if self._framing is None:
            self._head += data
            content = self._head.removeprefix(_BOM).lstrip()
            if not content or _BOM.startswith(content):
                return []
            self._framing = NdjsonFraming() if content[0] == _OBJECT else SseFraming()
            data = bytes(self._head)
            self._head.clear()
        frames = self._framing.receive(data)
        self.fault = self._framing.fault
        return frames

    def end(self) -> list[Frame]:
        """End the body; return the last frame if only its terminator is missing."""
        if self._framing is None:
            return []
        frames = self._framing.end()
        self.fault = self._framing.fault
        self.recognised = self._framing.recognised
        self.left_over = self._framing.left_over
        return frames
