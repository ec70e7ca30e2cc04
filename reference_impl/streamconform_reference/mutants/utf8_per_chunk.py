"""Each chunk is decoded by itself, so a character cut in two becomes U+FFFD."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages.decode import AnthropicMessagesDecoder
from streamconform_reference.framing import Frame
from streamconform_reference.framing.sse import SseFraming


class DecodingChunks(SseFraming):
    """The framing that takes every chunk for whole text."""

    def receive(self, data: bytes) -> list[Frame]:
        """Replace what is not UTF-8 in the chunk."""
        return super().receive(data.decode("utf-8", "replace").encode())


class Broken(AnthropicMessagesDecoder):
    """The decoder with that framing."""

    framing_factory = DecodingChunks


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:utf8-per-chunk")
