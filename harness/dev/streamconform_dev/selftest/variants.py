"""Which mutants each variant catches: those that read the stream rightly as it is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from streamconform.apis import APIS
from streamconform.model.result import TrialResult
from streamconform.model.trial import AS_IS, VARIANTS, AnyTrial, Trial
from streamconform.suite.expand import make_trial
from streamconform_dev.selftest.execute import Group

MAX_STREAMS: Final = 8
"""About the number of streams of each variant, without `--full`."""

Variant = tuple[str, str]
"""An API and one of its variants."""


def list_variants(trials: Iterable[AnyTrial]) -> tuple[Variant, ...]:
    """Return the variants of `trials`, in the order of the APIs."""
    found = {(trial.case.api, trial.delivery) for trial in trials if trial.delivery in VARIANTS}
    return tuple((api, name) for api in APIS for name in VARIANTS if (api, name) in found)


def choose_few(trials: Sequence[AnyTrial]) -> Iterator[AnyTrial]:
    """Yield some trials of each variant, spread over its streams."""
    of_variant: dict[Variant, list[AnyTrial]] = {}
    for trial in trials:
        of_variant.setdefault((str(trial.case.api), str(trial.delivery)), []).append(trial)
    chosen = {
        trial.id for found in of_variant.values() for trial in found[:: max(1, len(found) // MAX_STREAMS)]
    }
    return (trial for trial in trials if trial.id in chosen)


def add_originals(trials: Iterable[AnyTrial], seed: int) -> Iterator[AnyTrial]:
    """Yield the variants of each stream after the stream as it is."""
    streams = (trial for trial in trials if isinstance(trial, Trial))
    for _, of_case in groupby(streams, lambda trial: trial.case.id):
        variants = [*of_case]
        yield make_trial(variants[0].case, AS_IS, seed)
        yield from variants


def find_caught(
    groups: Sequence[Group], results: Iterable[Iterable[TrialResult]]
) -> Mapping[Variant, frozenset[str]]:
    """Return the mutants that a variant catches, by any check; `results` may omit passing trials."""
    differing: dict[tuple[str, str], dict[str, str]] = {}
    for group, found in zip(groups, results, strict=True):
        names = tuple(group.adapters)
        for result in found:
            of_case = differing.setdefault((names[result.implementation], result.case), {})
            of_case[str(result.delivery)] = result.case.partition("/")[0]
    caught: dict[Variant, set[str]] = {}
    for (mutant, _), of_case in differing.items():
        if AS_IS not in of_case:
            for delivery, api in of_case.items():
                caught.setdefault((api, delivery), set()).add(mutant)
    return {variant: frozenset(mutants) for variant, mutants in caught.items()}
