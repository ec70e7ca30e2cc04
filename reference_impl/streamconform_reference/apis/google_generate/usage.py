"""Usage of Gemini: `usageMetadata` in, disjoint buckets out.

- `promptTokenCount` includes what was read from the cache; `toolUsePromptTokenCount`, what the
  provider's own tools put into the prompt, is beside it. `candidatesTokenCount` does not include
  the thoughts: recorded, 9 + 23 + 185 = 217.
- Every chunk may report, cumulatively. Of each count the last report wins, before the buckets are
  taken from each other. Vertex AI reports no counts before the last chunk.
- A count of zero is left out. What the model wrote is the candidates and the thoughts together, so
  where one of them is there the other is zero; where both are absent nothing was reported.

Source: https://ai.google.dev/api/generate-content#UsageMetadata and the types of the `google-genai`
package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform_reference.decoding.fields import LARGEST_COUNT

COUNTS: Final = (
    "promptTokenCount",
    "cachedContentTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
)


def read_counts(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return what one `usageMetadata` reports; null says nothing."""
    return {
        name: count for name in COUNTS if type(count := usage.get(name)) is int and 0 <= count < LARGEST_COUNT
    }


def buckets(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Return disjoint buckets, by the field names of the outcome's usage."""
    prompt, tool_use = counts.get("promptTokenCount"), counts.get("toolUsePromptTokenCount")
    cached = counts.get("cachedContentTokenCount")
    candidates, thoughts = counts.get("candidatesTokenCount"), counts.get("thoughtsTokenCount")
    uncached = None if prompt is None else max(prompt - (cached or 0), 0)
    return {
        "input": _sum(uncached, tool_use),
        "cache_read": cached,
        "output": _sum(candidates, thoughts),
        "reasoning": thoughts,
    }


def _sum(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other
