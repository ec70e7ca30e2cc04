"""List prices of the models in the recordings, in USD per million tokens.

A test compares them with those that genai-prices lists. A case passes its prices to the implementation, so
later price changes do not affect expectations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from streamconform_dev.corpus.plain_reader.reading import Reading

Prices = Mapping[str, str]
MILLION: Final = Decimal(1_000_000)
UNPRICED_TIERS: Final = ("flex", "priority", "batch", "scale", "fast")
"""Service tiers with separate prices."""
WEB_SEARCH: Final = "10.00"
"""The price of Anthropic's web search, per 1,000 searches."""


def _anthropic(input_: str, output: str, read: str, write: str, hour: str) -> Prices:
    return {
        "input": input_,
        "output": output,
        "cache_read": read,
        "cache_write_5m": write,
        "cache_write_1h": hour,
    }


def _openai(input_: str, output: str, read: str | None = None) -> Prices:
    return {"input": input_, "output": output} | ({} if read is None else {"cache_read": read})


DATE: Final = r"(-\d{4}-?\d{2}-?\d{2}|-latest|-0)?"
PRICES: Final[Mapping[str, Prices]] = {
    "claude-3-haiku": _anthropic("0.25", "1.25", "0.03", "0.30", "0.50"),
    "claude-3-5-haiku": _anthropic("0.80", "4.00", "0.08", "1.00", "1.60"),
    "claude-3-opus": _anthropic("15.00", "75.00", "1.50", "18.75", "30.00"),
    "claude-3-[57]-sonnet|claude-sonnet-4(-[56])?": _anthropic("3.00", "15.00", "0.30", "3.75", "6.00"),
    "claude-haiku-4-5": _anthropic("1.00", "5.00", "0.10", "1.25", "2.00"),
    "claude-opus-4-[56]": _anthropic("5.00", "25.00", "0.50", "6.25", "10.00"),
    "gpt-3.5-turbo": _openai("0.50", "1.50"),
    "gpt-4": _openai("30.00", "60.00"),
    "gpt-4o": _openai("2.50", "10.00", "1.25"),
    "gpt-4o-mini": _openai("0.15", "0.60", "0.075"),
    "gpt-4.1": _openai("2.00", "8.00", "0.50"),
    "gpt-4.1-mini": _openai("0.40", "1.60", "0.10"),
    "gpt-4.1-nano": _openai("0.10", "0.40", "0.025"),
    "gpt-5|gpt-5.1": _openai("1.25", "10.00", "0.125"),
    "gpt-5-mini": _openai("0.25", "2.00", "0.025"),
    "gpt-5-nano": _openai("0.05", "0.40", "0.005"),
    "gpt-5.4": _openai("2.50", "15.00", "0.25"),
    "o3-mini": _openai("1.10", "4.40", "0.55"),
    "gemini-2.0-flash": _openai("0.10", "0.40", "0.025"),
    "gemini-2.5-flash": _openai("0.30", "2.50", "0.03"),
    "gemini-2.5-flash-lite": _openai("0.10", "0.40", "0.01"),
    "command-r-08-2024": _openai("0.15", "0.60"),
}


def find_prices(reading: Reading, model: str | None) -> Prices | None:
    """Return the prices of the model, or None; the answer names the model more exactly than the request."""
    if reading.service_tier in UNPRICED_TIERS:
        return None
    name = reading.model or model or ""
    found = (prices for pattern, prices in PRICES.items() if re.fullmatch(f"({pattern}){DATE}", name))
    return next(found, None)


def compute_cost(reading: Reading, prices: Prices) -> str | None:
    """Return the cost in USD as decimal text; None if a count is missing or has several correct values."""
    usage = reading.usage or {}
    counts = {name: count for name, count in usage.items() if isinstance(count, int)}
    if len(counts) != len(usage) or not {"input", "output"} <= counts.keys():
        return None
    price = {name: Decimal(value) for name, value in prices.items()}
    hour = counts.get("cache_write_1h", 0)
    total = counts["input"] * price["input"] + counts["output"] * price["output"]
    total += counts.get("cache_read", 0) * price.get("cache_read", price["input"])
    total += hour * price.get("cache_write_1h", price["input"])
    total += (counts.get("cache_write", 0) - hour) * price.get("cache_write_5m", price["input"])
    cost = total / MILLION + reading.counts.get("web_searches", 0) * Decimal(WEB_SEARCH) / 1000
    return f"{cost.normalize():f}"
