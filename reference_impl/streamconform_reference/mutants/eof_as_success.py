"""The end of the body ends the answer, whether or not `message_stop` came."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages.decode import AnthropicMessagesDecoder
from streamconform_reference.events import Event


class Broken(AnthropicMessagesDecoder):
    """The decoder that trusts the connection."""

    def receive_eof(self) -> list[Event]:
        """Complete an answer of which anything came."""
        if not self.failed and self._framed:
            for frame in self.framing.end():
                self.receive_frame(frame)
            self.message.complete()
        return super().receive_eof()


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:eof-as-success")
