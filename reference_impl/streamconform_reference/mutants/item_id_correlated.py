"""Events are matched by `item_id`, so those with another one than their item began with are lost."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


class Broken(OpenaiResponsesDecoder):
    """The decoder that trusts ids."""

    known: frozenset[object] = frozenset()

    def read(self, payload: Payload) -> None:
        """Drop what belongs to no item by its id."""
        kind = payload.get("type")
        name = payload.get("item_id") or part(payload, "item").get("id")
        if kind == "response.output_item.added":
            self.known |= {name}
        elif name and self.known and name not in self.known:
            return
        elif self.known and "output" in part(payload, "response"):
            payload = {**payload, "response": {**part(payload, "response"), "output": []}}
        super().read(payload)


adapter = adapter_for({"openai-responses": Broken}, name="mutant:item-id-correlated")
