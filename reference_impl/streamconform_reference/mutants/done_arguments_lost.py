"""Arguments are read from their deltas alone, which not every server sends."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.decoding.decoder import Payload

from ._responses import without_repeated_arguments


class Broken(OpenaiResponsesDecoder):
    """The decoder that takes nothing of a call but its start, its deltas and its end."""

    def read(self, payload: Payload) -> None:
        """Read the payload without the arguments that it repeats."""
        super().read(without_repeated_arguments(payload))


adapter = adapter_for({"openai-responses": Broken}, name="mutant:done-arguments-lost")
