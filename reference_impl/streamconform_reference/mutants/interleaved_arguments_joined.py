"""Every fragment of arguments goes to the call that began last."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages.decode import AnthropicMessagesDecoder
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


class Broken(AnthropicMessagesDecoder):
    """The decoder that knows one current call."""

    current: Any = None

    def read(self, payload: Payload) -> None:
        """Send a fragment to the current call, whatever its index."""
        block = part(payload, "content_block")
        if "input" in block or block.get("type") == "tool_use":
            self.current = payload.get("index")
        if part(payload, "delta").get("type") == "input_json_delta":
            payload = {**payload, "index": self.current}
        super().read(payload)


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:interleaved-arguments-joined")
