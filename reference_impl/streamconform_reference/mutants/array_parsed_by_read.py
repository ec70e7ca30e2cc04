"""Each network read of an array is taken for one element."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate import GoogleGenerateDecoder
from streamconform_reference.apis.google_generate.framing import GoogleFraming
from streamconform_reference.framing import Frame


class ByRead(GoogleFraming):
    """The framing without memory."""

    def receive(self, data: bytes) -> list[Frame]:
        """Take what is between the commas of the array for a payload."""
        frames = super().receive(data)
        if not self._head.startswith(b"["):
            return frames
        element = data.strip(b"[],\r\n ")
        return [Frame(element, None, 0, 0)] if element else []


class Broken(GoogleGenerateDecoder):
    """The decoder with that framing."""

    framing_factory = ByRead


adapter = adapter_for({"google-generate": Broken}, name="mutant:array-parsed-by-read")
