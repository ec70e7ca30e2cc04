"""An error that comes as bare JSON behind the events is not seen."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate import GoogleGenerateDecoder
from streamconform_reference.apis.google_generate.framing import GoogleFraming, GoogleSseFraming
from streamconform_reference.framing import Framing
from streamconform_reference.framing.sse import SseFraming


class EventsOnly(GoogleFraming):
    """The framing that reads lines with `data:` only."""

    def _choose(self) -> Framing:
        chosen = super()._choose()
        if isinstance(chosen, GoogleSseFraming):
            chosen = self._chosen = SseFraming()
        return chosen


class Broken(GoogleGenerateDecoder):
    """The decoder with that framing."""

    framing_factory = EventsOnly


adapter = adapter_for({"google-generate": Broken}, name="mutant:bare-error-ignored")
