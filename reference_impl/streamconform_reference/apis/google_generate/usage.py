"""Convert Gemini's `usageMetadata` to disjoint buckets.

- `promptTokenCount` includes cache reads; `toolUsePromptTokenCount`, the prompt tokens of the provider's own
  tools, is separate and charged as input, except for content retrieved by Google Search.
  `candidatesTokenCount` excludes the thoughts: in a recording, 9 + 23 + 185 = 217.
- Every chunk may report usage, which is cumulative. The last report of each count wins, before the buckets
  are computed. Vertex AI reports no counts before the last chunk.
- Gemini omits counts of zero. The model's output is the sum of candidates and thoughts, so if only one of
  them is reported, the other is zero; if both are absent, nothing was reported.

Source: https://ai.google.dev/api/generate-content#UsageMetadata and the types of the `google-genai`
package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import LARGEST_COUNT
from streamconform_reference.decoding.modalities import read_modalities
from streamconform_reference.pricing import Billing

TOOL_USE: Final = "toolUsePromptTokenCount"
COUNTS: Final = (
    "promptTokenCount",
    "cachedContentTokenCount",
    TOOL_USE,
    "candidatesTokenCount",
    "thoughtsTokenCount",
)


def read_counts(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts in one `usageMetadata`; null is ignored."""
    return {
        name: count for name in COUNTS if type(count := usage.get(name)) is int and 0 <= count < LARGEST_COUNT
    }


_DETAILS: Final = {
    "promptTokensDetails": "prompt",
    "cacheTokensDetails": "cache_read",
    "candidatesTokensDetails": "output",
}
"""Fields that list tokens by modality, and the count that each breaks down. Tool tokens are always text."""

TRAFFIC_TIERS: Final[Mapping[str, str]] = {
    "ON_DEMAND_FLEX": "flex",
    "ON_DEMAND_PRIORITY": "priority",
    "PROVISIONED_THROUGHPUT": "provisioned",
}
"""Vertex AI's `trafficType`, which names the tier that served the request, by the Gemini API's name for it.

Source: the enum `TrafficType` of Vertex AI's client libraries.
"""

PRICED: Final = frozenset({"serviceTier", "trafficType", *_DETAILS})
"""The `usageMetadata` fields that `read_billing` reads."""


def read_billing(usage: Payload) -> Billing:
    """Return the `usageMetadata` fields that affect the price."""
    tier, traffic = usage.get("serviceTier"), usage.get("trafficType")
    served = TRAFFIC_TIERS.get(traffic) if isinstance(traffic, str) else None
    return Billing(
        service_tier=tier if isinstance(tier, str) else served,
        modalities=read_modalities(usage, _DETAILS, "tokenCount"),
    )


def compute_buckets(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Return disjoint buckets, keyed by `Usage` fields."""
    prompt, tool_use = counts.get("promptTokenCount"), counts.get(TOOL_USE)
    cached = counts.get("cachedContentTokenCount")
    candidates, thoughts = counts.get("candidatesTokenCount"), counts.get("thoughtsTokenCount")
    uncached = max(prompt - cached, 0) if prompt and cached else prompt
    # Without calls, because almost every chunk reports usage, which takes half of the time to read it.
    return {
        "input": uncached if tool_use is None else tool_use + (uncached or 0),
        "cache_read": cached,
        "output": candidates if thoughts is None else thoughts + (candidates or 0),
        "reasoning": thoughts,
    }
