"""Of the last record only the reason and the counts are read, so calls on it are lost."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.ollama_chat import OllamaChatDecoder
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


class Broken(OllamaChatDecoder):
    """The decoder that expects calls before the end."""

    def read(self, payload: Payload) -> None:
        """Drop the calls of a record that is done."""
        if payload.get("done"):
            message = {key: value for key, value in part(payload, "message").items() if key != "tool_calls"}
            payload = {**payload, "message": message}
        super().read(payload)


adapter = adapter_for({"ollama-chat": Broken}, name="mutant:calls-of-last-record-dropped")
