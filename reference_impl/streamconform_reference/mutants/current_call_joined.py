"""One current call: the fragments of every call go to the one that began last."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses.calls import CALLS
from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.decoding.decoder import Payload

from ._responses import without_repeated_arguments
from ._tools import part


class Broken(OpenaiResponsesDecoder):
    """The decoder that knows one current call, and its fragments only."""

    current: Any = None

    def read(self, payload: Payload) -> None:
        """Send a fragment to the current call, whatever its index."""
        kind = str(payload.get("type"))
        if kind == "response.output_item.added" and part(payload, "item").get("type") in CALLS:
            self.current = payload.get("output_index")
        elif kind.endswith(("_arguments.delta", "_arguments.done")):
            payload = {**payload, "output_index": self.current, "item_id": None}
        super().read(without_repeated_arguments(payload))


adapter = adapter_for({"openai-responses": Broken}, name="mutant:current-call-joined")
