"""Compute the cost in US dollars from token counts and a price table, in exact decimals without floats.

The table is a mapping of decimal strings in USD per million tokens:
`input output cache_read cache_write_5m cache_write_1h web_search_per_1000`, with optional `tiers`
(`[{above: 200000, input: ...}]`) and `service_tier` (`{flex: "0.5"}`).
A value that is not a plain decimal number counts as absent. Without a price for input and output the
cost is None, because a total that silently omits tokens is worse than none.

Source of the rules (5-minute and 1-hour writes, web search, long prompts, batch):
https://platform.claude.com/docs/en/about-claude/pricing
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Final

from .outcome import Cost, Usage

_PLAIN_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,12})?")
# Precise enough to be exact: 16 digits of tokens, 21 of a price, 21 of a multiplier, and their sums.
_EXACT: Final = Context(prec=80)
_LARGEST_TOTAL: Final = Decimal(10) ** 15  # the normal form allows 15 digits before the point
_ZERO: Final = Decimal(0)
_ONE: Final = Decimal(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prices:
    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    web_search_per_1000: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    input: Decimal
    cache_read: Decimal
    cache_write: Decimal
    output: Decimal

    def sum(self) -> Decimal:
        return _sum((self.input, self.cache_read, self.cache_write, self.output))


@dataclass(frozen=True, slots=True)
class Pricing:
    """The price table of one model, unvalidated."""

    table: Mapping[str, Any]

    def cost(
        self, usage: Usage, *, service_tier: str | None = None, apart: Iterable[Usage] = ()
    ) -> Cost | None:
        """Return the cost of the answer, None if the table cannot price it. Never raises.

        `service_tier` is the response's; its multiplier applies to tokens, not to searches. `apart` is
        usage that the provider bills but omits from `usage`; its cost and that of searches are `other`.
        """
        prices = _prices(self.table, usage)
        if prices is None:
            return None
        factor = _factor(self.table, service_tier)
        parts = _token_parts(usage, prices, factor)
        per_search = prices.web_search_per_1000.scaleb(-3, _EXACT)
        other = _EXACT.multiply(Decimal(usage.web_searches or 0), per_search)
        for more in apart:
            # Usage billed apart belongs to another request, so its prompt may reach another tier.
            own_prices = _prices(self.table, more) or prices
            other = _EXACT.add(other, _token_parts(more, own_prices, factor).sum())
        total = _EXACT.add(parts.sum(), other)
        if total >= _LARGEST_TOTAL:
            return None
        return Cost(
            input=_plain(parts.input),
            cache_read=_plain(parts.cache_read),
            cache_write=_plain(parts.cache_write),
            output=_plain(parts.output),
            other=_plain(other),
            total=_plain(total),
        )


def _prices(table: Mapping[str, Any], usage: Usage) -> _Prices | None:
    """Return the prices of a request with this prompt; a tier prices the whole request, not its excess."""
    prompt = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    given = _decimals(table) | _decimals(_tier(table.get("tiers"), prompt))
    base, output = given.get("input"), given.get("output")
    if base is None or output is None:
        return None
    cache_write_5m = given.get("cache_write_5m", base)
    return _Prices(
        input=base,
        output=output,
        cache_read=given.get("cache_read", base),
        cache_write_5m=cache_write_5m,
        cache_write_1h=given.get("cache_write_1h", cache_write_5m),
        web_search_per_1000=given.get("web_search_per_1000", _ZERO),
    )


def _tier(tiers: Any, prompt: int) -> Mapping[str, Any]:
    """Return the tier with the highest `above` that the prompt exceeds, an empty one if there is none."""
    reached = [
        (above, number, tier)
        for number, tier in enumerate(tiers if isinstance(tiers, (list, tuple)) else ())
        if isinstance(tier, Mapping)
        if (above := _decimal(tier.get("above"))) is not None and prompt > above
    ]
    return max(reached)[2] if reached else {}


def _factor(table: Mapping[str, Any], service_tier: str | None) -> Decimal:
    multipliers = table.get("service_tier")
    if service_tier is None or not isinstance(multipliers, Mapping):
        return _ONE
    factor = _decimal(multipliers.get(service_tier))
    return _ONE if factor is None else factor


def _token_parts(usage: Usage, prices: _Prices, factor: Decimal) -> _Parts:
    written = usage.cache_write or 0
    for_an_hour = min(usage.cache_write_1h or 0, written)

    def part(tokens: int | None, price: Decimal) -> Decimal:
        dollars = _EXACT.multiply(Decimal(tokens or 0), price).scaleb(-6, _EXACT)
        return _EXACT.multiply(dollars, factor)

    return _Parts(
        input=part(usage.input, prices.input),
        cache_read=part(usage.cache_read, prices.cache_read),
        cache_write=_EXACT.add(
            part(written - for_an_hour, prices.cache_write_5m),
            part(for_an_hour, prices.cache_write_1h),
        ),
        output=part(usage.output, prices.output),
    )


def _decimals(table: Mapping[str, Any]) -> dict[str, Decimal]:
    found = ((key, _decimal(value)) for key, value in table.items())
    return {key: number for key, number in found if number is not None}


def _decimal(value: Any) -> Decimal | None:
    """Return a plain decimal string or a small integer as a Decimal, None for anything else."""
    text = str(value) if type(value) is int and abs(value) < 10**9 else value
    if not isinstance(text, str) or not _PLAIN_NUMBER.fullmatch(text):
        return None
    return Decimal(text)


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    total = _ZERO
    for amount in amounts:
        total = _EXACT.add(total, amount)
    return total


def _plain(amount: Decimal) -> str:
    """Return the amount without an exponent and without trailing zeros: `0.0048`, `12`, `0`."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
