"""The kill matrix: which cases catch which mutants, based on one run's results. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamconform.model.case import AnyCase
from streamconform.model.result import TrialResult
from streamconform.model.trial import DELIVERIES, VARIANTS
from streamconform.suite.kinds import Cell
from streamconform.suite.select import compile_glob
from streamconform.suite.threads import Thread


@dataclass(frozen=True, slots=True)
class MutantResult:
    """One mutant's result: the cases that caught it, and any unrelated failures."""

    name: str
    cases: tuple[str, ...]
    unexpected: tuple[str, ...]
    """Ids of failed checks that match none of the mutant's patterns."""
    faulted: int
    """The number of trials without an answer; a mutant must give wrong answers, not crash."""
    missed: tuple[Cell, ...]
    """The APIs and paths on which it should be caught, and is not."""

    @property
    def killed(self) -> bool:
        """Return whether cases caught the mutant wherever they should, and nothing else failed."""
        return bool(self.cases) and not (self.missed or self.unexpected or self.faulted)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a run of a mutant should show: globs over failed checks, and the cells in which it is caught."""

    fails: Sequence[str]
    cells: Sequence[Cell]


def make_matrix(
    results: Iterable[TrialResult], mutants: Mapping[str, Expected], cells: Mapping[str, Cell]
) -> tuple[MutantResult, ...]:
    """Return one row per mutant, in the order of the run; `cells` maps the ids of cases to their cells.

    `results` may omit passing trials.
    """
    by_mutant: dict[int, list[TrialResult]] = defaultdict(list)
    for result in results:
        by_mutant[result.implementation].append(result)
    return tuple(
        _make_row(name, mutant, by_mutant[index], cells)
        for index, (name, mutant) in enumerate(mutants.items())
    )


def _make_row(
    name: str, mutant: Expected, trials: Sequence[TrialResult], cells: Mapping[str, Cell]
) -> MutantResult:
    expected = [compile_glob(pattern) for pattern in mutant.fails]
    failed = [f"{trial.id}:{c.path}" for trial in trials for c in trial.checks if c.verdict != "may"]
    cases = tuple(dict.fromkeys(trial.case for trial in trials if is_caught(trial)))
    reached = {cells.get(case) for case in cases}
    return MutantResult(
        name,
        cases,
        tuple(id_ for id_ in failed if not any(pattern.match(id_) for pattern in expected)),
        sum(trial.verdict in ("faulted", "hang") and not trial.checks for trial in trials),
        tuple(cell for cell in mutant.cells if cell not in reached),
    )


@dataclass(frozen=True, slots=True)
class Unproven:
    """A bug that a case guards against, although no mutant of its kinds fails the case."""

    case: str
    bug: str
    kinds: tuple[str, ...]


def find_unproven(
    cases: Iterable[AnyCase], threads: Mapping[str, Thread], proofs: Container[tuple[str, str]]
) -> tuple[Unproven, ...]:
    """Return the guards of `cases` that no mutant proves; `proofs` are pairs of a kind and a case's id."""
    guards = (
        (case.id, bug, threads[bug].kinds if bug in threads else ()) for case in cases for bug in case.guards
    )
    return tuple(
        Unproven(case, bug, kinds)
        for case, bug, kinds in guards
        if not any((kind, case) in proofs for kind in kinds)
    )


def find_idle_cases(cases: Iterable[str], trials: Iterable[TrialResult]) -> tuple[str, ...]:
    """Return the `cases` that notice no mutant on an unbroken stream, not even by a check at level `may`.

    Faults do not count, because a mutant that treats the end of the bytes as the end of the answer fails
    every case that has faults. Nor do variants, which are another stream.
    """
    # Calls have no stream, so their delivery is None.
    own = {None, *DELIVERIES} - {*VARIANTS}
    noticing = {
        trial.case
        for trial in trials
        if (is_caught(trial) or any(check.verdict == "may" for check in trial.checks))
        and trial.delivery in own
    }
    return tuple(dict.fromkeys(case for case in cases if case not in noticing))


def is_caught(result: TrialResult) -> bool:
    """Return whether the case catches the mutant, if only in a `should`."""
    # In a script, a client that never ends has failed a check.
    return result.verdict in ("fail", "warn") or (result.verdict == "hang" and bool(result.checks))
