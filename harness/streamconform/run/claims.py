"""Find the claims of a run of which no value was ever compared. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from streamconform.model.result import TrialResult, UncomparedClaim


def find_uncompared_claims(trials: Iterable[TrialResult]) -> tuple[UncomparedClaim, ...]:
    """Return each claim of which some trial expected a value, but none of `trials` compared one.

    Known failures that lack the value are not counted: the user has listed them. They do count as comparisons
    if they compared a value.
    """
    expected: Counter[tuple[int, str]] = Counter()
    compared: set[tuple[int, str]] = set()
    for trial in trials:
        compared.update((trial.implementation, capability) for capability in trial.compared)
        if trial.verdict != "known":
            expected.update((trial.implementation, capability) for capability in trial.uncompared)
    return tuple(
        UncomparedClaim(implementation=implementation, capability=capability, trials=count)
        for (implementation, capability), count in sorted(expected.items())
        if (implementation, capability) not in compared
    )
