"""The parts of a reasoning summary are joined without anything between them."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.decoding import fields
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


class Broken(OpenaiResponsesDecoder):
    """The decoder that knows one part of a summary."""

    def read(self, payload: Payload) -> None:
        """Take every part for the first one."""
        kind = str(payload.get("type"))
        if kind.startswith("response.reasoning_summary"):
            if not kind.endswith(".delta"):
                return
            payload = {**payload, "summary_index": 0}
        elif part(payload, "item").get("type") == "reasoning":
            item = part(payload, "item")
            glued = "".join(fields.read_text(words, "text") for words in fields.read_objects(item, "summary"))
            summary = [{"type": "summary_text", "text": glued}]
            payload = {**payload, "item": {**item, "summary": summary}}
        super().read(payload)


adapter = adapter_for({"openai-responses": Broken}, name="mutant:summary-parts-glued")
