"""Each network read is taken for whole lines, so a record cut in two is broken."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.ollama_chat import OllamaChatDecoder
from streamconform_reference.framing import Frame
from streamconform_reference.framing.ndjson import NdjsonFraming


class ByRead(NdjsonFraming):
    """The framing without memory."""

    def receive(self, data: bytes) -> list[Frame]:
        """Take the end of the read for the end of the line."""
        self.recognised = True
        return [Frame(line, None, 0, 0) for line in data.split(b"\n") if line.strip()]

    def end(self) -> list[Frame]:
        """Nothing is left."""
        return []


class Broken(OllamaChatDecoder):
    """The decoder with that framing."""

    framing_factory = ByRead


adapter = adapter_for({"ollama-chat": Broken}, name="mutant:record-parsed-by-read")
