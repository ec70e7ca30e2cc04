"""Usage that comes cumulatively with every chunk is added up."""

from __future__ import annotations

from collections.abc import Mapping

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder


class Broken(OpenaiChatDecoder):
    """The decoder that takes every report for an increment."""

    def count(self, counts: Mapping[str, int]) -> None:
        """Add the report to what was reported before."""
        super().count({name: self.counts.get(name, 0) + count for name, count in counts.items()})


adapter = adapter_for({"openai-chat": Broken}, name="mutant:cumulative-usage-summed")
