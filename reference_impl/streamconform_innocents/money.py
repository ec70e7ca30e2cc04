"""Innocents that write the same amounts differently."""

from __future__ import annotations

from collections.abc import Callable

from . import grants
from .model import Answer, Change, TrialFacts
from .registry import Registry
from .rewrite import iter_groups

innocents = Registry()


def _respell(spell: Callable[[str], str]) -> Change:
    def change(facts: TrialFacts, answer: Answer) -> None:
        del facts
        for cost in iter_groups(answer, "cost"):
            for key, amount in cost.items():
                if key != "currency" and amount is not None:
                    cost[key] = spell(amount)

    return change


def _pad(amount: str) -> str:
    whole, _, fraction = amount.partition(".")
    return f"{whole}.{fraction}00"


innocents.register(
    "amounts-padded", grants.AMOUNTS, description="Writes amounts with two more zeros: `0.10` for `0.1`."
)(_respell(_pad))
