"""Of a chunk only the first part is read."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate import GoogleGenerateDecoder
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


class Broken(GoogleGenerateDecoder):
    """The decoder that looks at `parts[0]`."""

    def read_candidate(self, candidate: Payload) -> None:
        """Drop the parts behind it."""
        content = part(candidate, "content")
        parts = content.get("parts")
        if isinstance(parts, list):
            candidate = {**candidate, "content": {**content, "parts": parts[:1]}}
        super().read_candidate(candidate)


adapter = adapter_for({"google-generate": Broken}, name="mutant:first-part-only")
