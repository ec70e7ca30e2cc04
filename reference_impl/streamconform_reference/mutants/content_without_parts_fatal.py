"""A candidate without parts ends the answer as broken, though only the reason comes with it."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate import GoogleGenerateDecoder
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


class Broken(GoogleGenerateDecoder):
    """The decoder that looks into `content.parts` of every candidate."""

    def read_candidate(self, candidate: Payload) -> None:
        """Refuse a candidate without it."""
        try:
            _ = candidate["content"]["parts"][0]
        except (KeyError, IndexError, TypeError) as missing:
            raise BrokenPayloadError("no `content.parts`") from missing
        super().read_candidate(candidate)


adapter = adapter_for({"google-generate": Broken}, name="mutant:content-without-parts-fatal")
