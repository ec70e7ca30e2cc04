"""Text with a signature is taken for thinking, so the user never sees it."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate import GoogleGenerateDecoder
from streamconform_reference.decoding.decoder import Payload


class Broken(GoogleGenerateDecoder):
    """The decoder to which a signature is the mark of a thought."""

    def read_part(self, part: Payload) -> None:
        """Mark it so."""
        super().read_part({**part, "thought": True} if part.get("thoughtSignature") else part)


adapter = adapter_for({"google-generate": Broken}, name="mutant:signed-text-as-thinking")
