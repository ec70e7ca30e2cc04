"""Thoughts are left out of the output, though they are billed as such."""

from __future__ import annotations

from collections.abc import Mapping

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate import GoogleGenerateDecoder


class Broken(GoogleGenerateDecoder):
    """The decoder that counts the candidates only."""

    @staticmethod
    def to_buckets(counts: Mapping[str, int]) -> dict[str, int | None]:
        """Return the buckets with an output that lacks the thoughts."""
        right = GoogleGenerateDecoder.to_buckets(counts)
        return {**right, "output": counts.get("candidatesTokenCount", 0)}


adapter = adapter_for({"google-generate": Broken}, name="mutant:thoughts-not-counted")
