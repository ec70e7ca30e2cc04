"""The `encrypted_content` of reasoning is that of its start, which is not the final one."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


class Broken(OpenaiResponsesDecoder):
    """The decoder that keeps the first one."""

    first: Any = None

    def read(self, payload: Payload) -> None:
        """Put the one of the start into the finished item."""
        item = part(payload, "item")
        if item.get("type") == "reasoning":
            if payload.get("type") == "response.output_item.added":
                self.first = item.get("encrypted_content")
            else:
                payload = {**payload, "item": {**item, "encrypted_content": self.first}}
        super().read(payload)


adapter = adapter_for({"openai-responses": Broken}, name="mutant:encrypted-content-of-start")
