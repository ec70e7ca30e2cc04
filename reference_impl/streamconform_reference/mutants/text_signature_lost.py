"""A signature that comes with text, often with empty text, is dropped."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate import GoogleGenerateDecoder
from streamconform_reference.decoding.decoder import Payload


class Broken(GoogleGenerateDecoder):
    """The decoder that keeps the signatures of calls only."""

    def read_part(self, part: Payload) -> None:
        """Drop the signature of text."""
        if "text" in part:
            part = {key: value for key, value in part.items() if key != "thoughtSignature"}
        super().read_part(part)


adapter = adapter_for({"google-generate": Broken}, name="mutant:text-signature-lost")
