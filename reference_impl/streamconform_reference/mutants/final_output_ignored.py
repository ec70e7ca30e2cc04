"""The output of the finished response is not read, though some servers send nothing else."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


class Broken(OpenaiResponsesDecoder):
    """The decoder that takes usage and stop reason from the end, and no content."""

    def read(self, payload: Payload) -> None:
        """Empty the output."""
        if "output" in part(payload, "response"):
            payload = {**payload, "response": {**part(payload, "response"), "output": []}}
        super().read(payload)


adapter = adapter_for({"openai-responses": Broken}, name="mutant:final-output-ignored")
