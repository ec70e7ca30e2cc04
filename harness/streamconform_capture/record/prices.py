"""Compute the cost of answers with the prices in genai-prices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from streamconform.install import format_install
from streamconform.model.outcome import Usage

BYTES_PER_TOKEN: Final = 3
"""The assumed number of characters per token. English has about four; a lower value errs on the side of
overestimating.
"""
INSTALL: Final = format_install("prices")


class NoPrice(Exception):
    """No price is known. The message says why."""


def estimate(provider: str | None, model: str, body: Mapping[str, Any], max_tokens: int) -> Decimal:
    """Return the maximum cost, in USD, of an answer with `max_tokens` tokens. Raises `NoPrice`."""
    tokens = len(json.dumps(body, ensure_ascii=False).encode()) // BYTES_PER_TOKEN + 1
    return calculate(provider, model, Usage(input=tokens, output=max_tokens))


def calculate(provider: str | None, model: str, usage: Usage) -> Decimal:
    """Return an answer's cost in USD (0 if there is no provider). Raises `NoPrice`."""
    if provider is None:
        return Decimal()
    try:
        import genai_prices
    except ModuleNotFoundError as error:
        if error.name != "genai_prices":
            raise
        raise NoPrice(f"the prices are not installed; run `{INSTALL}`") from None
    read, write = usage.cache_read or 0, usage.cache_write or 0
    # genai-prices expects the cached tokens to be part of the input; `Usage` counts them separately.
    counts = genai_prices.Usage(
        input_tokens=(usage.input or 0) + read + write,
        cache_read_tokens=read,
        cache_write_tokens=write,
        output_tokens=usage.output or 0,
    )
    try:
        return Decimal(genai_prices.calc_price(counts, model, provider_id=provider).total_price)
    except LookupError:
        raise NoPrice(f"genai-prices has no price for `{model}` from {provider}") from None
