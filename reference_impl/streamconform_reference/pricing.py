"""Compute the cost in US dollars from token counts and a price table, using exact decimals instead of floats.

The table is a mapping of decimal strings in USD per million tokens: `input output cache_read cache_write_5m
cache_write_1h web_search_per_1000`, with optional `tiers` (`[{above: 200000, input: ...}]`), factors for all
tokens (`service_tier: {flex: "0.5"}`, and likewise `speed` and `inference_geo`) and `modalities` (`{audio:
{input: "1.00"}}`). A value that is not a plain decimal number is treated as absent. Without prices for input
and output, the cost is None, because a total that silently omits tokens is worse than no total.

Source of the rules (5-minute and 1-hour writes, web search, long prompts, batch, fast mode, data
residency): https://platform.claude.com/docs/en/about-claude/pricing; prices by modality:
https://ai.google.dev/gemini-api/docs/pricing
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from .outcome import Cost, Usage

_PLAIN_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,12})?")
# Precise enough to be exact: 16 digits of tokens, 21 of a price, 21 of a multiplier, and their sums.
_EXACT: Final = Context(prec=80)
_LARGEST_TOTAL: Final = Decimal(10) ** 15  # the normal form allows 15 digits before the point
_ZERO: Final = Decimal(0)
_ONE: Final = Decimal(1)


FACTORS: Final = ("service_tier", "speed", "inference_geo")
"""The `Billing` fields whose values select a factor for the price of all tokens."""


class Billing(Struct, frozen=True, kw_only=True):
    """The response fields that affect the price, besides the counts in `Usage`."""

    service_tier: str | None = None
    speed: str | None = None
    """Anthropic's `fast` or `standard`."""
    inference_geo: str | None = None
    """The region in which the model ran, as in Anthropic's `inference_geo`."""
    modalities: Mapping[str, Mapping[str, int]] = {}
    """Token counts by modality (in lower case), then by `Usage` field: `{"audio": {"input": 120}}`."""
    extra: tuple[Usage, ...] = ()
    """Usage that the provider bills but omits from its totals."""

    def merge(self, later: Billing) -> Billing:
        """Return these fields, updated from a later report; fields that the report omits are kept."""
        said = {name: value for name in self.__struct_fields__ if (value := getattr(later, name))}
        return replace(self, **said)


class _Prices(Struct, frozen=True, kw_only=True):
    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    web_search_per_1000: Decimal


class _Parts(Struct, frozen=True, kw_only=True):
    input: Decimal
    cache_read: Decimal
    cache_write: Decimal
    output: Decimal

    def add(self, surcharges: Mapping[str, Decimal], factor: Decimal) -> _Parts:
        changed = {
            name: _EXACT.add(getattr(self, name), _EXACT.multiply(amount, factor))
            for name, amount in surcharges.items()
        }
        return replace(self, **changed)

    def sum(self) -> Decimal:
        return _add_amounts((self.input, self.cache_read, self.cache_write, self.output))


class Pricing(Struct, frozen=True):
    """One model's price table, not validated."""

    table: Mapping[str, Any]

    def cost(self, usage: Usage, billing: Billing | None = None) -> Cost | None:
        """Return the cost of the answer, or None if the table cannot price it. Never raises.

        Factors apply to tokens, not to searches. The cost of searches and of `billing.extra` is reported as
        `other`.
        """
        prices = _read_prices(self.table, usage)
        if prices is None:
            return None
        billing = billing or Billing()
        factor = _read_factor(self.table, billing)
        parts = _price_tokens(usage, prices, factor)
        for modality, counts in billing.modalities.items():
            parts = parts.add(_price_modality(self.table, modality, counts, prices, usage), factor)
        per_search = prices.web_search_per_1000.scaleb(-3, _EXACT)
        other_cost = _EXACT.multiply(Decimal(usage.web_searches or 0), per_search)
        for extra_usage in billing.extra:
            # Usage in `extra` belongs to another request, whose prompt may reach a different tier.
            extra_prices = _read_prices(self.table, extra_usage) or prices
            other_cost = _EXACT.add(other_cost, _price_tokens(extra_usage, extra_prices, factor).sum())
        total = _EXACT.add(parts.sum(), other_cost)
        if total >= _LARGEST_TOTAL:
            return None
        return Cost(
            input=_format_amount(parts.input),
            cache_read=_format_amount(parts.cache_read),
            cache_write=_format_amount(parts.cache_write),
            output=_format_amount(parts.output),
            other=_format_amount(other_cost),
            total=_format_amount(total),
        )


def _read_prices(table: Mapping[str, Any], usage: Usage) -> _Prices | None:
    """Return the prices for a request with this prompt; a tier applies to all tokens, not just the excess."""
    prompt = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    amounts = _read_decimals(table) | _read_decimals(_find_tier(table.get("tiers"), prompt))
    base, output = amounts.get("input"), amounts.get("output")
    if base is None or output is None:
        return None
    cache_write_5m = amounts.get("cache_write_5m", base)
    return _Prices(
        input=base,
        output=output,
        cache_read=amounts.get("cache_read", base),
        cache_write_5m=cache_write_5m,
        cache_write_1h=amounts.get("cache_write_1h", cache_write_5m),
        web_search_per_1000=amounts.get("web_search_per_1000", _ZERO),
    )


def _find_tier(tiers: Any, prompt: int) -> Mapping[str, Any]:
    """Return the tier with the highest `above` that the prompt exceeds, or an empty one if there is none."""
    reached = [
        (above, number, tier)
        for number, tier in enumerate(tiers if isinstance(tiers, (list, tuple)) else ())
        if isinstance(tier, Mapping)
        if (above := _read_decimal(tier.get("above"))) is not None and prompt > above
    ]
    return max(reached)[2] if reached else {}


def _read_factor(table: Mapping[str, Any], billing: Billing) -> Decimal:
    """Return the product of the factors that the response selects."""
    product = _ONE
    for name in FACTORS:
        factors, said = table.get(name), getattr(billing, name)
        factor = _read_decimal(factors.get(said)) if said and isinstance(factors, Mapping) else None
        product = product if factor is None else _EXACT.multiply(product, factor)
    return product


def _price_modality(
    table: Mapping[str, Any], modality: str, counts: Mapping[str, int], prices: _Prices, usage: Usage
) -> dict[str, Decimal]:
    """Return how much more a modality's tokens cost than they would at the common price."""
    modalities = table.get("modalities")
    entry = modalities.get(modality) if isinstance(modalities, Mapping) else None
    amounts = _read_decimals(entry) if isinstance(entry, Mapping) else {}
    return {
        name: _EXACT.multiply(
            Decimal(min(counts[name], getattr(usage, name) or 0)), price - getattr(prices, name)
        ).scaleb(-6, _EXACT)
        for name, price in amounts.items()
        if name in ("input", "cache_read", "output") and name in counts
    }


def _price_tokens(usage: Usage, prices: _Prices, factor: Decimal) -> _Parts:
    written = usage.cache_write or 0
    for_an_hour = min(usage.cache_write_1h or 0, written)

    def price_tokens(tokens: int | None, price: Decimal) -> Decimal:
        dollars = _EXACT.multiply(Decimal(tokens or 0), price).scaleb(-6, _EXACT)
        return _EXACT.multiply(dollars, factor)

    return _Parts(
        input=price_tokens(usage.input, prices.input),
        cache_read=price_tokens(usage.cache_read, prices.cache_read),
        cache_write=_EXACT.add(
            price_tokens(written - for_an_hour, prices.cache_write_5m),
            price_tokens(for_an_hour, prices.cache_write_1h),
        ),
        output=price_tokens(usage.output, prices.output),
    )


def _read_decimals(table: Mapping[str, Any]) -> dict[str, Decimal]:
    numbers = ((key, _read_decimal(value)) for key, value in table.items())
    return {key: number for key, number in numbers if number is not None}


def _read_decimal(value: Any) -> Decimal | None:
    """Return a plain decimal string or a small integer as a Decimal; None for anything else."""
    text = str(value) if type(value) is int and abs(value) < 10**9 else value
    if not isinstance(text, str) or not _PLAIN_NUMBER.fullmatch(text):
        return None
    return Decimal(text)


def _add_amounts(amounts: Iterable[Decimal]) -> Decimal:
    total = _ZERO
    for amount in amounts:
        total = _EXACT.add(total, amount)
    return total


def _format_amount(amount: Decimal) -> str:
    """Return the amount without an exponent or trailing zeros: `0.0048`, `12`, `0`."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
