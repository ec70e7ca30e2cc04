"""A last event without its blank line is thrown away."""

from __future__ import annotations

from ..adapter import adapter_for
from ..apis.anthropic_messages.decode import AnthropicMessagesDecoder
from ..framing import Frame
from ..framing.sse import SseFraming


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
