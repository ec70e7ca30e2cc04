"""Messages that are exceptions are decoded and thrown away, so the stream just seems to end."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.bedrock_converse import BedrockConverseDecoder
from streamconform_reference.framing import Frame


class Broken(BedrockConverseDecoder):
    """The decoder that knows events only."""

    def take_failure(self, frame: Frame) -> None:
        """Do nothing."""


adapter = adapter_for({"bedrock-converse": Broken}, name="mutant:exception-dropped")
