"""Convert the totals of an interaction to disjoint buckets.

- `total_input_tokens` includes cached tokens but excludes the tools' tokens; `total_output_tokens` excludes
  the thoughts. In every recorded stream, `total_tokens` is the sum of input, output, thoughts and tools.
- Tokens that Google's tools read are charged as input, except for content retrieved by Google Search.

Source: the types in the `google-genai` package (3.4.0), https://ai.google.dev/gemini-api/docs/pricing
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import read_count, read_objects
from streamconform_reference.decoding.modalities import read_modalities

_INPUT: Final = "total_input_tokens"
_CACHED: Final = "total_cached_tokens"
_OUTPUT: Final = "total_output_tokens"
_THOUGHTS: Final = "total_thought_tokens"
_TOOLS: Final = "total_tool_use_tokens"
_SEARCH: Final = "google_search_call"


_MODALITIES: Final = {
    "input_tokens_by_modality": "prompt",
    "cached_tokens_by_modality": "cache_read",
    "output_tokens_by_modality": "output",
}
"""Fields that list tokens by modality, and the count that each breaks down."""


def read_usage_modalities(usage: Payload) -> dict[str, dict[str, int]]:
    """Return the token counts by modality, then by `Usage` field."""
    return read_modalities(usage, _MODALITIES, "tokens")


class Totals:
    """The totals so far; the last report of each wins."""

    def __init__(self) -> None:
        """Start with no usage."""
        self._counts: dict[str, int] = {}

    def update(self, usage: Payload) -> None:
        """Add the counts of a report; null is ignored."""
        for name in (_INPUT, _CACHED, _OUTPUT, _THOUGHTS, _TOOLS):
            count = read_count(usage, name)
            if count is not None:
                self._counts[name] = count
        for tool in read_objects(usage, "grounding_tool_count"):
            searches = read_count(tool, "count")
            if tool.get("type") == "google_search" and searches is not None:
                self._counts["web_searches"] = searches

    def compute_buckets(self, kinds: Collection[str]) -> dict[str, int | None]:
        """Return disjoint buckets, keyed by `Usage` fields; `kinds` are the step types."""
        counts = self._counts
        ran = {kind for kind in kinds if kind.endswith("_call") and kind != "function_call"}
        billed_tools = 0 if ran == {_SEARCH} else counts.get(_TOOLS, 0)
        prompt = counts.get(_INPUT)
        output, thoughts = counts.get(_OUTPUT), counts.get(_THOUGHTS)
        written = None if output is None and thoughts is None else (output or 0) + (thoughts or 0)
        return {
            "input": None if prompt is None else max(prompt - counts.get(_CACHED, 0), 0) + billed_tools,
            "cache_read": counts.get(_CACHED),
            "output": written,
            "reasoning": thoughts,
            "web_searches": counts.get("web_searches"),
        }
