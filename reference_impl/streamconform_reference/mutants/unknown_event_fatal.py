"""An event type that is not known ends the answer as broken."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages.decode import AnthropicMessagesDecoder
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


class Broken(AnthropicMessagesDecoder):
    """The decoder that wants to know everything."""

    def read(self, payload: Payload) -> None:
        """Refuse what is not in the table."""
        kind = payload.get("type")
        if kind not in (*self.handlers, "ping"):
            problem = f"unknown event type {kind!r}"
            raise BrokenPayloadError(problem)
        super().read(payload)


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:unknown-event-fatal")
