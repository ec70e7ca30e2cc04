"""A chunk whose usage is null erases the usage that was reported before."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.decoding.decoder import Payload


class Broken(OpenaiChatDecoder):
    """The decoder that takes the usage of the last chunk, whatever it is."""

    def read_usage(self, payload: Payload, choice: Payload) -> None:
        """Forget what was reported if this chunk reports null."""
        if payload.get("usage", choice) is None:
            self.counts.clear()
        super().read_usage(payload, choice)

    def report(self) -> None:
        """Report at the end only."""

    def end_of_body(self) -> None:
        """Report what the last chunk left."""
        if self.counts and not self.message.ended:
            super().report()
        super().end_of_body()


adapter = adapter_for({"openai-chat": Broken}, name="mutant:null-usage-erases")
