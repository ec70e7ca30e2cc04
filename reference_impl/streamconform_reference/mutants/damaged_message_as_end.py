"""A message whose checksum is wrong ends the stream without a word."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.bedrock_converse import BedrockConverseDecoder
from streamconform_reference.framing import Frame
from streamconform_reference.framing.aws_eventstream import EventStreamFraming


class Silent(EventStreamFraming):
    """The framing that keeps its fault for itself."""

    broken = False

    def receive(self, data: bytes) -> list[Frame]:
        """Return frames up to the first fault, and none behind it."""
        if self.broken:
            return []
        frames = super().receive(data)
        self.broken = self.fault is not None
        self.fault = None
        return frames


class Broken(BedrockConverseDecoder):
    """The decoder with that framing."""

    framing_factory = Silent


adapter = adapter_for({"bedrock-converse": Broken}, name="mutant:damaged-message-as-end")
