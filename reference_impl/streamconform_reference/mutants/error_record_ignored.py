"""A record that has an error, and nothing else, is skipped like any unknown one."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.ollama_chat import OllamaChatDecoder
from streamconform_reference.decoding.decoder import Payload


class Broken(OllamaChatDecoder):
    """The decoder that reads messages only."""

    def read(self, payload: Payload) -> None:
        """Skip a record with an error and without a message."""
        if "message" in payload or not payload.get("error"):
            super().read(payload)


adapter = adapter_for({"ollama-chat": Broken}, name="mutant:error-record-ignored")
