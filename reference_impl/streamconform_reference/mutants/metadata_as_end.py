"""Usage is taken for the end of a complete answer, though `messageStop` never came."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.bedrock_converse import BedrockConverseDecoder


class Broken(BedrockConverseDecoder):
    """The decoder that makes up a stop."""

    def end_of_body(self) -> None:
        """Stop if there was usage."""
        if self.stop_reason is None and self.message.usage() is not None:
            self.stop("end_turn")
        super().end_of_body()


adapter = adapter_for({"bedrock-converse": Broken}, name="mutant:metadata-as-end")
