"""Reasoning that comes under two names is taken twice."""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.apis.openai_chat.reasoning import TEXT_KEYS, Reasoning, read_reasoning
from streamconform_reference.decoding.decoder import Payload


class Broken(OpenaiChatDecoder):
    """The decoder that reads all names."""

    @staticmethod
    def to_reasoning(delta: Payload) -> Iterator[Reasoning]:
        """Yield the reasoning of every name that has some."""
        for key in TEXT_KEYS:
            if delta.get(key):
                yield from read_reasoning({key: delta[key]})
        yield from read_reasoning({key: value for key, value in delta.items() if key not in TEXT_KEYS})


adapter = adapter_for({"openai-chat": Broken}, name="mutant:reasoning-doubled")
