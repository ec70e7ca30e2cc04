"""Run each mutant on the cases that guard against its kind of bug, and on others until it is caught.

It proves each guard, and that each mutant is caught wherever it should be, with a twentieth of all trials.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from streamconform.model.result import TrialResult
from streamconform.model.trial import UNCHANGED, AnyTrial
from streamconform.run.grown import is_grown
from streamconform.suite.kinds import Cell
from streamconform_dev.selftest.execute import Group, Task, judge_trial, run_tasks
from streamconform_dev.selftest.kill import is_caught

Place = Cell | None
"""Where a case catches a mutant; None for a function that belongs to no API and path."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A mutant's kind of bug, and the places where it should be caught."""

    kind: str
    places: Sequence[Place]


@dataclass(frozen=True, slots=True)
class Guarded:
    """The kinds of bugs that each case guards against, and the place of each case, by its id."""

    kinds: Mapping[str, Container[str]]
    places: Mapping[str, Cell]


def run_own_cases(
    groups: Sequence[Group], goals: Mapping[str, Goal], cases: Guarded, workers: int, seconds: float
) -> list[list[TrialResult]]:
    """Return each group's results, without those that are as expected, like `run_groups`."""
    return run_tasks([[*_divide(group, goals, cases, seconds)] for group in groups], workers)


def _divide(group: Group, goals: Mapping[str, Goal], cases: Guarded, seconds: float) -> Iterator[Task]:
    """Yield a task per place."""
    trials: dict[Place, list[AnyTrial]] = defaultdict(list)
    for trial in group.plan.trials:
        trials[cases.places.get(trial.case.id)].append(trial)
    for place, of_place in trials.items():
        yield partial(_judge_place, group, place, of_place, goals, cases.kinds, seconds)


def _judge_place(
    group: Group,
    place: Place,
    trials: Sequence[AnyTrial],
    goals: Mapping[str, Goal],
    guarded: Mapping[str, Container[str]],
    seconds: float,
) -> list[TrialResult]:
    """Return the results on the mutants' own cases and, if these do not catch it, until another does."""
    names = tuple(group.adapters)
    uncaught = {name for name in names if place in goals[name].places}
    results = []

    def judge(trial: AnyTrial, chosen: Container[str]) -> None:
        for result in judge_trial(group, trial, seconds, chosen):
            results.append(result)
            if is_caught(result):
                uncaught.discard(names[result.implementation])

    for trial in trials:
        own = {name for name in names if goals[name].kind in guarded[trial.case.id]}
        if own:
            judge(trial, own)
    # Most bugs show whatever the delivery, and few only in huge streams, which take long.
    first = (None, *UNCHANGED)
    for trial in sorted(trials, key=lambda trial: (is_grown(trial), trial.delivery not in first)):
        if not uncaught:
            break
        judge(trial, {name for name in uncaught if goals[name].kind not in guarded[trial.case.id]})
    return results
