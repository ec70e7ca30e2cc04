"""Reasoning is added to `completion_tokens`, which include it already."""

from __future__ import annotations

from collections.abc import Mapping

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.apis.openai_chat.usage import compute_buckets


class Broken(OpenaiChatDecoder):
    """The decoder that does not look at the total."""

    @staticmethod
    def to_buckets(counts: Mapping[str, int]) -> dict[str, int | None]:
        """Return the buckets with all reasoning on top of the completion."""
        completion = counts.get("completion")
        output = None if completion is None else completion + counts.get("reasoning", 0)
        return {**compute_buckets(counts), "output": output}


adapter = adapter_for({"openai-chat": Broken}, name="mutant:reasoning-added-to-output")
