"""A last event without its blank line is thrown away."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages.decode import AnthropicMessagesDecoder
from streamconform_reference.framing import Frame
from streamconform_reference.framing.sse import SseFraming


class Discarding(SseFraming):
    """The framing as the standard has it, which gateways do not keep to."""

    def end(self) -> list[Frame]:
        """Deliver nothing."""
        super().end()
        return []


class Broken(AnthropicMessagesDecoder):
    """The decoder with that framing."""

    framing_factory = Discarding


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:last-frame-lost")
