"""A chunk without a choice, or a choice without a delta, ends the answer as broken."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


class Broken(OpenaiChatDecoder):
    """The decoder that looks into `choices[0].delta` of every chunk."""

    def read(self, payload: Payload) -> None:
        """Refuse a chunk without it."""
        try:
            _ = payload["choices"][0]["delta"]
        except (KeyError, IndexError, TypeError) as missing:
            raise BrokenPayloadError("no `choices[0].delta`") from missing
        super().read(payload)


adapter = adapter_for({"openai-chat": Broken}, name="mutant:chunk-without-choice-fatal")
