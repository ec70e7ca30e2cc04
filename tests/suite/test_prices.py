"""Expected costs, computed again by genai-prices, with the case's prices and with its own list."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from math import prod
from typing import Any

import pytest
from genai_prices import Usage, calc_price
from genai_prices.types import (
    ClauseEquals,
    ModelInfo,
    ModelPrice,
    PriceCalculation,
    PriceVariant,
    Provider,
    Tier,
    TieredPrices,
)

from streamconform.apis import APIS
from streamconform.model.case import Case
from streamconform.model.leaf import AnyOf, Literally

from ..bundled_suite import streams

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
"""Prices change; the list is asked for those at this time."""

PROVIDERS = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai",
    "google-generate": "google",
    "google-interactions": "google",
    "cohere-chat": "cohere",
    "bedrock-converse": "aws",
    "bedrock-invoke": "aws",
    "sonar": "perplexity",
}
"""The provider by model or API; the list finds all others by the model's name alone."""

KEYS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "web_search_per_1000": "web_searches_kcount",
}
"""Maps a price's name in cases to the package's name."""

MODALITIES = {
    ("audio", "input"): ("input_audio_mtok", "input_audio_tokens"),
    ("audio", "cache_read"): ("cache_audio_read_mtok", "cache_audio_read_tokens"),
    ("image", "output"): ("output_image_mtok", "output_image_tokens"),
}
"""Maps the price of a modality to the package's names for it and its tokens. Audio includes cached audio."""

DETAILS = {
    "input": ("promptTokensDetails", "input_tokens_by_modality"),
    "cache_read": ("cacheTokensDetails", "cached_tokens_by_modality"),
    "output": ("candidatesTokensDetails", "output_tokens_by_modality"),
}
"""Google's fields with tokens by modality."""

FACTORS = {
    "service_tier": rb'"(?:service_?[tT]ier":\s*(?:\{"type":\s*)?"|trafficType":\s*"ON_DEMAND_)(\w+)"',
    "speed": rb'"speed":\s*"(\w+)"',
    "inference_geo": rb'"inference_geo":\s*"(\w+)"',
}
"""The factors in a case's prices, and where an answer says which one applies."""

BUCKETS = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "web_searches")

UNLISTED: Mapping[str, str] = {
    "qwen3:8b": "runs on the user's own machine, so the cases make prices up",
    "command-a-reasoning-08-2025": "the cases take the prices of command-a",
    "command-a-vision-07-2025": "the cases take the prices of command-a",
}
"""Models that the list does not know, and why."""

REGIONAL = (
    "a regional profile costs 10 % more than the global one, whose prices the cases take"
    " (docs.aws.amazon.com/bedrock/latest/userguide/global-cross-region-inference.html)"
)
BEFORE = "the case takes the prices of the model's forerunner; only the arithmetic counts"
NO_WRITE_PRICE = "the case leaves out the price of cache writes on purpose"
NO_TIERS = "the list has no tiers of this api"
NO_PLACES = "the list does not know that inference in the US costs 10 % more"
SEARCHES = "the list has no price for Cohere's search units"

OTHER_PRICES: Mapping[str, tuple[frozenset[str], str]] = {
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": (frozenset(KEYS) - {"web_search_per_1000"}, REGIONAL),
    "deepseek-v4-flash": (frozenset({"input", "output", "cache_read"}), BEFORE),
    "command-r-08-2024": (frozenset({"web_search_per_1000"}), SEARCHES),
    "command-a-03-2025": (frozenset({"cache_read"}), "the case adds a price to show that it is not used"),
}
"""Prices that differ from the list's, by model, and why."""

OTHER_TOTALS: Mapping[str, tuple[str, str]] = {
    "anthropic-messages/cost/cost-no-cache-write-price": ("0.01262", NO_WRITE_PRICE),
    "openai-responses/cost/cost-no-cache-write-price": ("0.00128", NO_WRITE_PRICE),
    "openai-chat/cost/cost-cumulative-usage": (
        "0.012215",
        "the list adds what a request costs beside its tokens, for which a case's prices have no word",
    ),
    "openai-chat/cost/cost-deepseek-hit-and-miss": ("0.000060474", BEFORE),
    "google-generate/cost/cost-service-tier-flex": (
        "0.000075",
        "the list has no tiers of this api; flex is half price (ai.google.dev/gemini-api/docs/optimization)",
    ),
    "google-generate/cost/cost-traffic-type-flex": ("0.000075", NO_TIERS),
    "google-generate/cost/cost-traffic-type-priority": ("0.000075", NO_TIERS),
    "google-generate/cost-modalities/cost-audio-flex": (
        "0.001936",
        "the list has no tiers of this api; flex is half price (ai.google.dev/gemini-api/docs/optimization)",
    ),
    "google-interactions/cost/cost-flex": (
        "0.00055",
        "the list has no tiers of this api; flex is half price (ai.google.dev/gemini-api/docs/optimization)",
    ),
    "cohere-chat/usage-and-cost/cost-search-units-priced": ("0.00009", SEARCHES),
    "bedrock-converse/usage/usage-after-message-stop": ("0.004026", REGIONAL),
    "bedrock-converse/usage/cost-with-cache": ("0.0080025", REGIONAL),
    "bedrock-converse/usage/cost-cache-of-one-hour": ("0.017589", REGIONAL),
    "bedrock-converse/usage/cost-long-context": (
        "0.5511033",
        REGIONAL + "; and the model takes no long prompts any more",
    ),
    "bedrock-converse/usage/cost-service-tier-flex": ("0.00464", NO_TIERS),
    "bedrock-converse/usage/cost-service-tier-reserved": ("0.00464", NO_TIERS),
    "bedrock-invoke/usage/cost-service-tier-flex": ("0.018", NO_TIERS),
    "anthropic-messages/cost/cost-inference-in-the-us": ("0.032", NO_PLACES),
    "anthropic-messages/cost/cost-fast-in-the-us-with-search": ("0.036", NO_PLACES),
}
"""Cases for which the list gives a different total, with that total and the reason."""


@cache
def priced() -> dict[str, Case]:
    """Return the cases that have prices and expect a total, by id."""
    return {
        case.id: case for case in streams() if case.pricing is not None and "cost.total" in case.expect.fields
    }


def allowed(case: Case, path: str) -> tuple[Any, ...]:
    """Return the values that the case allows at a path; null if it expects nothing there."""
    match case.expect.fields.get(path):
        case Literally(value):
            return (value,)
        case AnyOf(values):
            return values
        case None:
            return (None,)
        case other:
            raise AssertionError(f"{case.id} expects {other} of {path}")


def tokens_by_modality(case: Case) -> dict[str, int]:
    """Return the last report's tokens by modality, under the package's names."""
    found = {}
    for (modality, part), (_, name) in MODALITIES.items():
        lists = re.findall(rf'"(?:{"|".join(DETAILS[part])})":\s*(\[[^\]]*\])', case.cassette.body.decode())
        for entry in json.loads(lists[-1]) if lists else ():
            if entry["modality"].lower() == modality:
                found[name] = entry.get("tokenCount", entry.get("tokens"))
    return found


def usage_of(case: Case) -> Usage:
    """Return the expected usage under the package's names, where the input is the entire prompt."""
    # If more than one count is right (`any_of: [null, 0, 1008]`), the cost follows from the first.
    count = {name: allowed(case, f"usage.{name}")[0] or 0 for name in BUCKETS}
    return Usage(
        input_tokens=count["input"] + count["cache_read"] + count["cache_write"],
        cache_read_tokens=count["cache_read"],
        cache_write_tokens=count["cache_write"],
        cache_write_1h_tokens=count["cache_write_1h"],
        output_tokens=count["output"],
        web_searches=count["web_searches"],
        **(tokens_by_modality(case) if case.pricing and "modalities" in case.pricing else {}),
    )


def served(case: Case) -> dict[str, str]:
    """Return the last reported fields that affect the price, by their names in a case's prices."""
    stated = {
        name: [value.decode().lower() for value in re.findall(pattern, case.cassette.body)]
        for name, pattern in FACTORS.items()
    }
    stated["service_tier"] += [
        value for name, value in case.cassette.headers.items() if name == "x-amzn-bedrock-service-tier"
    ]
    return {name: values[-1] for name, values in stated.items() if values}


def context_of(case: Case) -> dict[str, str]:
    """Return the same under the package's names; it does not know regions."""
    tier = "processing" if case.api == "anthropic-messages" else "service_tier"
    names = {"service_tier": tier, "speed": "speed"}
    return {names[name]: value for name, value in served(case).items() if name in names}


def prices(table: Mapping[str, Any], factor: str = "1") -> ModelPrice:
    """Return a case's price table in the package's form; the factor applies to tokens, not to searches."""

    def price(key: str) -> Decimal | TieredPrices:
        if key == "web_search_per_1000":
            return Decimal(table[key])
        tiers = [Tier(tier["above"], Decimal(tier[key]) * Decimal(factor)) for tier in table.get("tiers", ())]
        base = Decimal(table[key]) * Decimal(factor)
        return TieredPrices(base, tiers) if tiers else base

    own = {
        name: Decimal(table["modalities"][modality][part]) * Decimal(factor)
        for (modality, part), (name, _) in MODALITIES.items()
        if part in table.get("modalities", {}).get(modality, {})
    }
    return ModelPrice(**{name: price(key) for key, name in KEYS.items() if key in table}, **own)


def by_table(case: Case) -> PriceCalculation:
    """Return the cost that the package computes from the case's own prices."""
    assert case.pricing is not None
    stated = served(case)
    factor = prod(
        Decimal(case.pricing[name].get(value, "1")) for name, value in stated.items() if name in case.pricing
    )
    model = ModelInfo(
        id="m",
        match=ClauseEquals("m"),
        prices=prices(case.pricing),
        price_variants=[PriceVariant(stated, prices(case.pricing, str(factor)))] if stated else None,
    )
    provider = Provider(id="p", name="p", api_pattern="", models=[model])
    return model.calc_price(usage_of(case), provider, genai_request_timestamp=AT, price_context=stated)


def by_list(case: Case, context: Mapping[str, str]) -> PriceCalculation:
    """Return the cost according to the package's list. Raises LookupError for an unknown model."""
    model = case.cassette.model
    assert model
    return calc_price(
        usage_of(case),
        model,
        provider_id=PROVIDERS.get(model) or PROVIDERS.get(case.api),
        genai_request_timestamp=AT,
        price_context=dict(context),
    )


def totals(case: Case) -> set[Decimal]:
    return {Decimal(total) for total in allowed(case, "cost.total") if total is not None}


def parts(case: Case) -> dict[str, Decimal]:
    """Return the parts of the cost that the case expects."""
    named = {
        name: allowed(case, f"cost.{name}")[0] for name in ("input", "cache_read", "cache_write", "output")
    }
    return {name: Decimal(amount) for name, amount in named.items() if amount is not None}


def base(price: Decimal | TieredPrices | None, tier: int) -> Decimal | None:
    """Return the price for a prompt with one token more than `tier`."""
    if not isinstance(price, TieredPrices):
        return price
    return next((each.price for each in reversed(price.tiers) if tier >= each.start), price.base)


def test_priced_cases_of_every_api_are_here() -> None:
    assert {case.api for case in priced().values()} == {*APIS}
    assert len(priced()) >= 97
    assert OTHER_TOTALS.keys() <= priced().keys()


def test_the_arithmetic_of_another_comes_to_the_expected_cost() -> None:
    wrong = []
    for name, case in priced().items():
        found, named = by_table(case), parts(case)
        if found.total_price not in totals(case):
            wrong.append((name, "total", found.total_price))
        if found.output_price != named.pop("output", found.output_price):
            wrong.append((name, "output", found.output_price))
        if len(named) == 3 and found.input_price != sum(named.values()):
            wrong.append((name, "input", found.input_price))
    assert wrong == []


def test_the_price_list_of_another_comes_to_the_expected_cost() -> None:
    listed = {name: case for name, case in priced().items() if case.cassette.model not in UNLISTED}
    found = {name: by_list(case, context_of(case)).total_price for name, case in listed.items()}
    differing = {name: total for name, total in found.items() if total not in totals(listed[name])}
    assert differing == {name: Decimal(total) for name, (total, _) in OTHER_TOTALS.items()}


def test_prices_are_those_of_the_list() -> None:
    found: dict[str, set[str]] = {}
    for case in priced().values():
        assert case.pricing is not None
        if case.cassette.model in UNLISTED:
            continue
        listed, ours = by_list(case, {}).model_price, prices(case.pricing)
        tiers = [0, *(tier["above"] for tier in case.pricing.get("tiers", ()))]
        found.setdefault(case.cassette.model or "", set()).update(
            key
            for key, name in KEYS.items()
            if key in case.pricing
            for tier in tiers
            if base(getattr(ours, name), tier) != base(getattr(listed, name), tier)
        )
    assert {model: keys for model, keys in found.items() if keys} == {
        model: keys for model, (keys, _) in OTHER_PRICES.items()
    }


def test_what_the_list_lacks_it_lacks() -> None:
    models = {case.cassette.model: case for case in priced().values()}
    for model in UNLISTED:
        with pytest.raises(LookupError):
            by_list(models[model], {})
