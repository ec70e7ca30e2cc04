"""Convert the `usage` objects of Chat Completions to disjoint buckets.

- `prompt_tokens` includes cache reads and writes; `completion_tokens` includes reasoning. Source:
  https://platform.openai.com/docs/guides/prompt-caching and
  https://platform.openai.com/docs/guides/reasoning.
- Exception: xAI excludes reasoning from the completion tokens. The total reveals this, so the numbers decide,
  not the vendor's name: in a recording, 291 + 26 + 196 = 513, and the reported cost bills all 222 output
  tokens.
- Servers repeat cumulative usage in every chunk. The last report of each count wins, before the buckets are
  computed, so a report without details does not count the cache twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.apis.google_generate.usage import TRAFFIC_TIERS
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import read_count

# The paths of each count in `usage`; the first path with a number wins. OpenAI's own path is first. The
# others: Mistral, Moonshot, DeepSeek; Alibaba, LiteLLM; Together.
COUNT_PATHS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "prompt": (("prompt_tokens",),),
    "completion": (("completion_tokens",),),
    "total": (("total_tokens",),),
    "cached": (
        ("prompt_tokens_details", "cached_tokens"),
        ("prompt_token_details", "cached_tokens"),
        ("num_cached_tokens",),
        ("cached_tokens",),
        ("prompt_cache_hit_tokens",),
        ("cache_read_input_tokens",),
    ),
    "written": (
        ("prompt_tokens_details", "cache_write_tokens"),
        ("prompt_tokens_details", "cache_creation_input_tokens"),
        ("cache_creation_input_tokens",),
    ),
    "written_1h": (("cache_creation", "ephemeral_1h_input_tokens"),),
    "reasoning": (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",)),
}


def find_usages(payload: Payload, choice: Payload) -> Iterator[Payload]:
    """Yield the usage objects of a chunk, the most authoritative one last.

    Groq sends usage in `x_groq`, and Moonshot in the choice; all others send it at the top level.
    """
    x_groq = payload.get("x_groq")
    for holder in (x_groq, choice, payload):
        usage = holder.get("usage") if isinstance(holder, dict) else None
        if isinstance(usage, dict) and usage:
            yield usage


def read_counts(usage: Payload) -> dict[str, int]:
    """Return the counts in one usage object, keyed as in `COUNT_PATHS`; null is ignored."""
    count_found = ((name, _first_count(usage, paths)) for name, paths in COUNT_PATHS.items())
    return {name: count for name, count in count_found if count is not None}


def read_tier(usage: Payload) -> str | None:
    """Return the tier that served the request: Mistral and Vertex AI put it into the usage.

    Source: https://docs.mistral.ai/api and
    https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse
    """
    value: Any = usage.get("extra_properties")
    for key in ("google", "traffic_type"):
        value = value.get(key) if isinstance(value, dict) else None
    served = TRAFFIC_TIERS.get(value.upper()) if isinstance(value, str) else None
    tier = usage.get("service_tier")
    return tier if isinstance(tier, str) else served


def compute_buckets(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Return disjoint buckets, keyed by the fields of `Usage`."""
    prompt, completion = counts.get("prompt"), counts.get("completion")
    reasoning = counts.get("reasoning")
    cached, written = counts.get("cached"), counts.get("written")
    if prompt is not None and completion is not None and reasoning:
        outside = counts.get("total") == prompt + completion + reasoning
        completion += reasoning if outside else 0
    return {
        "input": None if prompt is None else max(prompt - (cached or 0) - (written or 0), 0),
        "cache_read": cached,
        "cache_write": written,
        "cache_write_1h": counts.get("written_1h"),
        "output": completion,
        "reasoning": reasoning,
    }


def _first_count(usage: Payload, paths: tuple[tuple[str, ...], ...]) -> int | None:
    return next(
        (count_found for path in paths if (count_found := read_count(usage, *path)) is not None), None
    )
