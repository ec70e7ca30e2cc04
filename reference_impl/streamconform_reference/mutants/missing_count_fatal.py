"""A last record without `prompt_eval_count` ends the answer as broken."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.ollama_chat import OllamaChatDecoder
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


class Broken(OllamaChatDecoder):
    """The decoder that needs the count."""

    def read_done(self, record: Payload) -> None:
        """Refuse a record without it."""
        if "prompt_eval_count" not in record:
            raise BrokenPayloadError("no `prompt_eval_count`")
        super().read_done(record)


adapter = adapter_for({"ollama-chat": Broken}, name="mutant:missing-count-fatal")
