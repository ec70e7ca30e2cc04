"""Input is all of `prompt_tokens`, though the cache's part of it is counted apart."""

from __future__ import annotations

from collections.abc import Mapping

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.apis.openai_chat.usage import compute_buckets


class Broken(OpenaiChatDecoder):
    """The decoder with buckets that overlap."""

    @staticmethod
    def to_buckets(counts: Mapping[str, int]) -> dict[str, int | None]:
        """Return the buckets with the whole prompt as input."""
        return {**compute_buckets(counts), "input": counts.get("prompt")}


adapter = adapter_for({"openai-chat": Broken}, name="mutant:cached-subset-not-subtracted")
