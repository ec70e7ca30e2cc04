"""Divide the mutants into groups that run the same trials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, get_args

from streamconform.model.capability import CALLED
from streamconform.model.case import AnyCase, CallCase, Case, Function
from streamconform.model.trial import AnyTrial
from streamconform_dev.selftest.execute import Adapter, Group, make_group

SECONDS_PER_TRIAL: Final = 10.0
"""The timeout after which a mutant counts as hung."""


class _GroupKey(NamedTuple):
    """The properties that a group's mutants share."""

    apis: tuple[str, ...]
    functions: tuple[str, ...]
    documents: bool
    """Whether the mutants read non-streaming answers."""


def group_mutants(names: tuple[str, ...], trials: tuple[AnyTrial, ...]) -> Iterator[Group]:
    """Yield groups of mutants that have the same APIs and functions, each with its trials."""
    from streamconform_mutants import MUTANTS

    # Mutants that run the same trials mostly return the same answers, and each distinct answer is judged
    # once.
    groups: dict[_GroupKey, dict[str, Adapter]] = {}
    for name in names:
        adapter = MUTANTS[name].adapter
        functions = tuple(name for name in get_args(Function) if name in vars(adapter))
        key = _GroupKey(tuple(adapter.apis), functions, "documents" in adapter.capabilities)
        groups.setdefault(key, {})[name] = adapter
    for key, adapters in groups.items():
        group_trials = tuple(trial for trial in trials if _is_for(trial.case, key))
        if group_trials:
            yield make_group(adapters, group_trials)


def _is_for(case: AnyCase, key: _GroupKey) -> bool:
    """Return whether mutants with this key (broken functions, documents or streams) run the case."""
    if case.api not in (key.apis or (None,)):
        return False
    if isinstance(case, CallCase):
        return CALLED[case.kind][0] in key.functions
    is_document = isinstance(case, Case) and not case.stream
    return not key.functions and key.documents == is_document
