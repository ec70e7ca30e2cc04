"""A tool that OpenAI hosts looks like one that the client has to run."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses.answer import ResponseState
from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.pricing import Pricing


class ClientsAssembler(Assembler):
    """The accumulator whose calls are all the client's."""

    def start_call(self, slot: Hashable, **fields: Any) -> None:
        """Begin a call for the client."""
        super().start_call(slot, **{**fields, "executor": "client"})


class Broken(OpenaiResponsesDecoder):
    """The decoder with that accumulator."""

    def __init__(self, *, pricing: Any = None, **fields: Any) -> None:
        """Begin before the first byte of the body."""
        super().__init__(pricing=pricing, **fields)
        self.message = ClientsAssembler(Pricing(pricing) if pricing is not None else None)
        self.answer = ResponseState(self.message)


adapter = adapter_for({"openai-responses": Broken}, name="mutant:hosted-tool-as-client")
