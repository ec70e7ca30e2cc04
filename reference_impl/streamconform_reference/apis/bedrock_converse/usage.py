"""Convert Converse's `usage` metadata to disjoint buckets.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html

- `inputTokens` excludes cache reads and writes; `totalTokens` includes them.
- `cacheDetails` breaks down the writes by time to live.
- One known exception is not corrected, because nothing in the stream reveals it: OpenAI models also count
  cache writes as input (maximhq/bifrost#6942).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import read_count

USAGE_FIELDS: Final[Mapping[str, str]] = {
    "input": "inputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheWriteInputTokens",
    "output": "outputTokens",
}
_KEPT_FOR_AN_HOUR: Final = "1h"


def read_counts(usage: Payload) -> dict[str, int | None]:
    """Return the counts in a `usage` object, keyed by `Usage` fields."""
    counts = {name: read_count(usage, key) for name, key in USAGE_FIELDS.items()}
    details = usage.get("cacheDetails")
    if isinstance(details, list) and details:
        counts["cache_write_1h"] = sum(
            read_count(detail, "inputTokens") or 0
            for detail in details
            if isinstance(detail, dict) and detail.get("ttl") == _KEPT_FOR_AN_HOUR
        )
    return counts
