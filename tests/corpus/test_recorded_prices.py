"""The prices of pulled recordings, compared with those that genai-prices lists."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices import Usage, calc_price

from streamconform_dev.corpus.plain_reader import Reading
from streamconform_dev.corpus.prices import MILLION, PRICES, compute_cost, find_prices

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
MODELS = {
    "claude-3-haiku-20240307": "anthropic",
    "claude-3-5-haiku-20241022": "anthropic",
    "claude-3-opus-20240229": "anthropic",
    "claude-3-5-sonnet-20241022": "anthropic",
    "claude-sonnet-4-20250514": "anthropic",
    "claude-sonnet-4-5-20250929": "anthropic",
    "claude-haiku-4-5-20251001": "anthropic",
    "claude-opus-4-5-20251101": "anthropic",
    "claude-opus-4-6": "anthropic",
    "gpt-3.5-turbo": "openai",
    "gpt-4": "openai",
    "gpt-4o-2024-08-06": "openai",
    "gpt-4o-mini-2024-07-18": "openai",
    "gpt-4.1": "openai",
    "gpt-4.1-mini": "openai",
    "gpt-4.1-nano": "openai",
    "gpt-5": "openai",
    "gpt-5.1": "openai",
    "gpt-5-mini": "openai",
    "gpt-5-nano": "openai",
    "gpt-5.4": "openai",
    "o3-mini": "openai",
    "gemini-2.0-flash": "google",
    "gemini-2.5-flash": "google",
    "gemini-2.5-flash-lite": "google",
    "command-r-08-2024": "cohere",
}
USAGE = {
    "input": Usage(input_tokens=1000),
    "output": Usage(output_tokens=1000),
    "cache_read": Usage(input_tokens=1000, cache_read_tokens=1000),
    "cache_write_5m": Usage(input_tokens=1000, cache_write_tokens=1000),
}


def make_reading(model, **usage):
    return Reading(status="complete", reason="stop", usage=usage, model=model)


@pytest.mark.parametrize("model", MODELS)
def test_the_prices_of_a_model_are_those_of_the_list(model):
    prices = find_prices(make_reading(model), None)
    assert prices is not None
    for name in USAGE.keys() & prices.keys():
        listed = calc_price(
            USAGE[name], model, provider_id=MODELS[model], genai_request_timestamp=AT
        ).total_price
        assert listed * 1000 == Decimal(prices[name]), name


def test_every_model_with_prices_is_compared():
    compared = {id(find_prices(make_reading(model), None)) for model in MODELS}
    assert {id(prices) for prices in PRICES.values()} == compared


def test_a_cost_is_the_sum_of_disjoint_buckets():
    prices = PRICES["claude-3-haiku"]
    reading = make_reading("", input=10, cache_read=100, cache_write=30, cache_write_1h=10, output=5)
    expected = 10 * Decimal("0.25") + 100 * Decimal("0.03") + 20 * Decimal("0.30") + 10 * Decimal("0.50")
    assert Decimal(compute_cost(reading, prices)) == (expected + 5 * Decimal("1.25")) / MILLION
    assert compute_cost(make_reading("", output=5), prices) is None
    assert find_prices(make_reading("gpt-4o-audio"), None) is None
