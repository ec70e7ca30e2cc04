"""Reasoning tokens are added to the output tokens, which include them."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


class Broken(OpenaiResponsesDecoder):
    """The decoder that bills reasoning twice."""

    def read(self, payload: Payload) -> None:
        """Raise the output by the reasoning."""
        usage = part(part(payload, "response"), "usage")
        output = usage.get("output_tokens")
        reasoning = part(usage, "output_tokens_details").get("reasoning_tokens")
        if isinstance(output, int) and isinstance(reasoning, int):
            usage = {**usage, "output_tokens": output + reasoning}
            payload = {**payload, "response": {**part(payload, "response"), "usage": usage}}
        super().read(payload)


adapter = adapter_for({"openai-responses": Broken}, name="mutant:reasoning-billed-twice")
