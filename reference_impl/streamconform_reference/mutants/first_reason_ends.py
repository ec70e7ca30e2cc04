"""The first `finishReason` ends the answer, whatever comes behind it."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate import GoogleGenerateDecoder
from streamconform_reference.decoding.decoder import Payload


class Broken(GoogleGenerateDecoder):
    """The decoder that stops reading."""

    def read(self, payload: Payload) -> None:
        """End with the chunk that has a reason."""
        super().read(payload)
        if self.finish is not None:
            self.end_of_body()


adapter = adapter_for({"google-generate": Broken}, name="mutant:first-reason-ends")
