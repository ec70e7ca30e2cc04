"""Usage of Converse: `usage` of the metadata in, disjoint buckets out.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html

- `inputTokens` leaves out what was read from and written to the cache; `totalTokens` has all of it.
- `cacheDetails` tells the writes apart by how long they are kept.
- An exception is known and not corrected, since nothing in the stream tells it: models of OpenAI were
  seen to count cache writes as input too (maximhq/bifrost#6942).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import count

USAGE_FIELDS: Final[Mapping[str, str]] = {
    "input": "inputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheWriteInputTokens",
    "output": "outputTokens",
}
_KEPT_FOR_AN_HOUR: Final = "1h"


def read_counts(usage: Payload) -> dict[str, int | None]:
    """Return what a `usage` object reports, by the field names of the outcome's usage."""
    counts = {name: count(usage, key) for name, key in USAGE_FIELDS.items()}
    details = usage.get("cacheDetails")
    if isinstance(details, list) and details:
        counts["cache_write_1h"] = sum(
            count(detail, "inputTokens") or 0
            for detail in details
            if isinstance(detail, dict) and detail.get("ttl") == _KEPT_FOR_AN_HOUR
        )
    return counts
