"""Every fragment of a tool's input goes to the call that began first, as if there were one block."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.bedrock_converse import BedrockConverseDecoder
from streamconform_reference.decoding.decoder import Payload

from ._tools import part

_OF_A_STOP = {"contentBlockIndex", "p"}


class Broken(BedrockConverseDecoder):
    """The decoder that knows one call."""

    first: Any = None

    def read(self, payload: Payload) -> None:
        """Send input to the first call, which no stop of a block ends."""
        if self.first is None and "toolUse" in part(payload, "start"):
            self.first = payload.get("contentBlockIndex")
        if self.first is not None:
            if payload.keys() <= _OF_A_STOP:
                return
            if "toolUse" in part(payload, "delta"):
                payload = {**payload, "contentBlockIndex": self.first}
        super().read(payload)


adapter = adapter_for({"bedrock-converse": Broken}, name="mutant:block-index-ignored")
