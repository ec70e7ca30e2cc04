"""Cost: figures computed by hand, exact, and None if a price is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_reference.outcome import Usage
from streamconform_reference.pricing import Billing, Pricing

OPUS = {
    "input": "4",
    "cache_write_5m": "5",
    "cache_write_1h": "8",
    "cache_read": "0.20",
    "output": "20",
    "web_search_per_1000": "10",
}
HAIKU = {
    "input": "0.10",
    "output": "0.50",
    "cache_read": "0.01",
    "cache_write_5m": "0.125",
    "cache_write_1h": "0.20",
    "tiers": [
        {
            "above": 100000,
            "input": "0.50",
            "output": "2.50",
            "cache_read": "0.05",
            "cache_write_5m": "0.625",
            "cache_write_1h": "1.00",
        }
    ],
}
FULL = Usage(
    input=1200,
    cache_read=40000,
    cache_write=9000,
    cache_write_1h=3000,
    output=2500,
    reasoning=900,
    web_searches=2,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    id: str
    usage: Usage
    table: dict[str, Any]
    total: str
    service_tier: str | None = None
    parts: dict[str, str] = field(default_factory=dict)


CASES = [
    Case(
        id="every-bucket",
        usage=FULL,
        table=OPUS,
        # 1200 x 4 + 40000 x 0.20 + (6000 x 5 + 3000 x 8) + 2500 x 20, per million, + 2 x 10 / 1000
        parts={
            "input": "0.0048",
            "cache_read": "0.008",
            "cache_write": "0.054",
            "output": "0.05",
            "other": "0.02",
        },
        total="0.1368",
    ),
    Case(
        id="no-split-is-five-minutes",
        usage=Usage(input=1200, cache_read=40000, cache_write=9000, output=2500, web_searches=2),
        table=OPUS,
        total="0.1278",
    ),
    Case(
        id="cache-write-is-not-billed-as-input",
        usage=Usage(input=3, cache_write=12304, cache_read=0, output=550),
        table={"input": "3", "output": "15", "cache_write_5m": "3.75", "cache_read": "0.30"},
        total="0.054399",
    ),
    Case(
        id="no-cache-write-price-is-the-input-price",
        usage=Usage(input=0, cache_write=1000, output=0),
        table={"input": "3", "output": "15"},
        total="0.003",
    ),
    Case(
        id="no-cache-read-price-is-the-input-price",
        usage=Usage(input=0, cache_read=1000, output=0),
        table={"input": "3", "output": "15"},
        total="0.003",
    ),
    Case(
        id="no-hour-price-is-the-five-minute-price",
        usage=Usage(cache_write=1000, cache_write_1h=1000),
        table={"input": "3", "output": "15", "cache_write_5m": "3.75"},
        total="0.00375",
    ),
    Case(
        id="at-the-tier-the-base-prices-hold",
        usage=Usage(input=100000, output=1000),
        table=HAIKU,
        total="0.0105",
    ),
    Case(
        id="above-the-tier-the-whole-request-is-dearer",
        usage=Usage(input=100001, output=1000),
        table=HAIKU,
        total="0.0525005",
    ),
    Case(
        id="the-tier-counts-cached-tokens",
        usage=Usage(input=1, cache_read=60000, cache_write=40000, output=0),
        table=HAIKU,
        # 1 x 0.50 + 60000 x 0.05 + 40000 x 0.625
        total="0.0280005",
    ),
    Case(
        id="the-highest-tier-reached-holds",
        usage=Usage(input=300, output=0),
        table={
            "input": "1",
            "output": "1",
            "tiers": [
                {"above": 200, "input": "3"},
                {"above": 100, "input": "2"},
                {"above": 400, "input": "4"},
            ],
        },
        total="0.0009",
    ),
    Case(
        id="service-tier-holds-for-tokens-not-for-searches",
        usage=Usage(input=1000, output=1000, web_searches=1),
        table={**OPUS, "service_tier": {"batch": "0.5"}},
        service_tier="batch",
        total="0.022",
    ),
    Case(
        id="unknown-service-tier-changes-nothing",
        usage=Usage(input=1000, output=1000),
        table={**OPUS, "service_tier": {"batch": "0.5"}},
        service_tier="standard",
        total="0.024",
    ),
    Case(
        id="reasoning-is-not-billed-twice",
        usage=Usage(input=0, output=1000, reasoning=900),
        table=OPUS,
        total="0.02",
    ),
    Case(id="nothing-costs-nothing", usage=Usage(input=0, output=0), table=OPUS, total="0"),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_cost_is_the_figure_worked_out_by_hand(case: Case) -> None:
    cost = Pricing(case.table).cost(case.usage, Billing(service_tier=case.service_tier))
    assert cost is not None
    found = cost.to_json()
    assert found["total"] == case.total
    assert found | case.parts == found


def test_extra_usage_costs_other_and_has_its_own_tier() -> None:
    extra = Usage(input=60385, output=522)
    cost = Pricing(OPUS).cost(Usage(input=612, output=2819), Billing(extra=(extra,)))
    assert cost is not None
    # 60385 x 4 + 522 x 20; 612 x 4 + 2819 x 20
    assert (cost.other, cost.total) == ("0.25198", "0.310808")


def test_factors_of_speed_and_place_multiply() -> None:
    table = {"input": "8", "output": "40", "speed": {"fast": "2"}, "inference_geo": {"us": "1.1"}}
    cost = Pricing(table).cost(
        Usage(input=1000, output=100, web_searches=3), Billing(speed="fast", inference_geo="us")
    )
    assert cost is not None
    # (1000 x 8 + 100 x 40) x 2 x 1.1 millionths
    assert (cost.input, cost.output, cost.other, cost.total) == ("0.0176", "0.0088", "0", "0.0264")


def test_tokens_of_a_modality_have_its_price_and_the_rest_the_common_one() -> None:
    table = {
        "input": "0.30",
        "output": "2.50",
        "cache_read": "0.03",
        "modalities": {"audio": {"input": "1.00", "cache_read": "0.10"}, "image": {"output": "30"}},
    }
    modalities = {"text": {"input": 40}, "audio": {"input": 100, "cache_read": 60}, "image": {"output": 1290}}
    cost = Pricing(table).cost(
        Usage(input=140, cache_read=60, output=1300), Billing(modalities=modalities, service_tier="x")
    )
    assert cost is not None
    # 40 x 0.30 + 100 x 1.00; 60 x 0.10; 1290 x 30 + 10 x 2.50
    assert (cost.input, cost.cache_read, cost.output) == ("0.000112", "0.000006", "0.038725")


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"input": "3"},
        {"input": "3", "output": 15.0},
        {"input": "three", "output": "15"},
        {"input": "-3", "output": "15"},
        {"input": "1e3", "output": "15"},
        {"input": "NaN", "output": "15"},
        {"input": None, "output": "15"},
        {"input": True, "output": "15"},
        {"input": "9" * 40, "output": "15"},
    ],
)
def test_a_table_without_plain_prices_has_no_cost(table: dict[str, Any]) -> None:
    assert Pricing(table).cost(Usage(input=1, output=1)) is None


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(),
    st.text("0123456789.-Ee", max_size=12),
    st.just(["1"]),
    st.just({"flex": "0.5"}),
    st.just({"flex": []}),
)
KEYS = st.sampled_from([*OPUS, "tiers", "service_tier"])


@given(
    table=st.dictionaries(KEYS, ANYTHING),
    tiers=st.lists(st.dictionaries(st.sampled_from([*OPUS, "above"]), ANYTHING), max_size=3),
    tokens=st.integers(0, 2**53),
)
def test_no_table_raises_and_the_total_is_the_sum(
    table: dict[str, Any], tiers: list[Any], tokens: int
) -> None:
    usage = Usage(input=tokens, cache_write=tokens, cache_write_1h=tokens, output=tokens)
    for given_table in (table, {**OPUS, **table, "tiers": tiers}):
        cost = Pricing(given_table).cost(usage, Billing(service_tier="flex"))
        if cost is not None:
            parts = (cost.input, cost.cache_read, cost.cache_write, cost.output, cost.other)
            with localcontext(prec=100):
                assert sum(Decimal(part) for part in parts) == Decimal(cost.total)
            assert "E" not in cost.total
