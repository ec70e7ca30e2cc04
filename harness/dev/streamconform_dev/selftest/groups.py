"""Divide the mutants into groups that run the same trials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from streamconform.model.capability import CALLED
from streamconform.model.case import BehaviorCase, CallCase, Function, RoundTripCase
from streamconform.model.trial import UNCHANGED, VARIANTS, AnyTrial, is_fault
from streamconform.suite.kinds import CasePath, find_path
from streamconform_dev.selftest.execute import Adapter, Group, make_group

if TYPE_CHECKING:
    from streamconform_mutants.model import MutantTrials

SECONDS_PER_TRIAL: Final = 10.0
"""The timeout after which a mutant counts as hung."""


class _GroupKey(NamedTuple):
    """The properties that a group's mutants share."""

    apis: tuple[str, ...]
    functions: tuple[str, ...]
    paths: tuple[CasePath, ...]
    trials: MutantTrials
    capabilities: tuple[str, ...]


def group_mutants(names: tuple[str, ...], trials: tuple[AnyTrial, ...]) -> Iterator[Group]:
    """Yield groups of mutants that have the same APIs and functions, each with its trials."""
    from streamconform_mutants import MUTANTS

    # Mutants that run the same trials mostly return the same answers, and each distinct answer is judged
    # once.
    groups: dict[_GroupKey, dict[str, Adapter]] = {}
    for name in names:
        adapter = MUTANTS[name].adapter
        functions = tuple(name for name in get_args(Function) if name in vars(adapter))
        capabilities = tuple(adapter.capabilities)
        mutant = MUTANTS[name]
        key = _GroupKey(tuple(adapter.apis), functions, mutant.paths, mutant.trials, capabilities)
        groups.setdefault(key, {})[name] = adapter
    for key, adapters in groups.items():
        group_trials = tuple(trial for trial in trials if _is_for(trial, key))
        if group_trials:
            yield make_group(adapters, group_trials)


def _is_for(trial: AnyTrial, key: _GroupKey) -> bool:
    """Return whether mutants with this key (broken functions, documents or streams) run the trial."""
    case = trial.case
    if case.api not in (key.apis or (None,)):
        return False
    if isinstance(case, CallCase):
        return CALLED[case.kind][0] in key.functions and find_path(case) in (None, *key.paths)
    if isinstance(case, RoundTripCase):
        # How an answer is cut makes no difference to the next request.
        return "replay" in key.paths and trial.delivery in UNCHANGED
    if key.functions or find_path(case) not in key.paths:
        return False
    if isinstance(case, BehaviorCase):
        return True
    return (
        key.trials == "all"
        or trial.delivery in (*UNCHANGED, *VARIANTS)
        or (key.trials == "once and broken" and is_fault(trial.delivery))
    )
