"""A last record without its line end is thrown away."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.ollama_chat import OllamaChatDecoder
from streamconform_reference.framing import Frame
from streamconform_reference.framing.ndjson import NdjsonFraming


class Discarding(NdjsonFraming):
    """The framing of those who wait for the line end."""

    def end(self) -> list[Frame]:
        """Deliver nothing."""
        super().end()
        return []


class Broken(OllamaChatDecoder):
    """The decoder with that framing."""

    framing_factory = Discarding


adapter = adapter_for({"ollama-chat": Broken}, name="mutant:last-record-lost")
