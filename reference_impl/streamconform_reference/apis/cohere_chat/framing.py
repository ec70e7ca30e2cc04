"""The two framings of one api: v2 sends server-sent events, v1 JSON lines or, when asked, events too.

The first byte decides. The content type would say the same (`text/event-stream`, and
`application/stream+json` of v1), but gateways rewrite it, and none has turned a `{` into something else.
"""

from __future__ import annotations

from typing import Final

from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.ndjson import NdjsonFraming
from streamconform_reference.framing.sse import SseFraming

_BOM: Final = b"\xef\xbb\xbf"
_OBJECT: Final = 0x7B


class CohereFraming:
    """Framing of both; see `streamconform_reference.framing.Framing`."""

    def __init__(self) -> None:
        """Begin at the first byte of a body."""
        self.fault: str | None = None
        self.recognised = False
        self._framing: Framing | None = None
        self._head = bytearray()  # blanks, and what may be a byte order mark

    def receive(self, data: bytes) -> list[Frame]:
        """Take the next bytes; return the frames that they complete."""
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
        """Take the end of the body; return the last frame, if it is whole but for its end mark."""
        if self._framing is None:
            return []
        frames = self._framing.end()
        self.fault = self._framing.fault
        self.recognised = self._framing.recognised
        return frames
