"""The kill matrix: which cases catch which mutants, based on one run's results. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamconform.model.result import TrialResult
from streamconform.model.trial import DELIVERIES
from streamconform.suite.select import compile_glob


@dataclass(frozen=True, slots=True)
class MutantResult:
    """One mutant's result: the cases that caught it, and any unrelated failures."""

    name: str
    cases: tuple[str, ...]
    unexpected: tuple[str, ...]
    """Ids of failed checks that match none of the mutant's patterns."""
    faulted: int
    """The number of trials without an answer; a mutant must give wrong answers, not crash."""
    guarded: bool
    """Whether a case that caught the mutant guards against its bug, if that bug has been reported."""

    @property
    def killed(self) -> bool:
        """Return whether a case that guards against the mutant's bug caught it, and nothing else failed."""
        return bool(self.cases) and self.guarded and not self.unexpected and not self.faulted


def make_matrix(
    results: Iterable[TrialResult], mutants: Mapping[str, tuple[Sequence[str], Sequence[str]]]
) -> tuple[MutantResult, ...]:
    """Return one row per mutant; `mutants` maps names to patterns and bugs, in the order of the run.

    `results` may omit passing trials.
    """
    rows = []
    by_mutant: dict[int, list[TrialResult]] = defaultdict(list)
    for result in results:
        by_mutant[result.implementation].append(result)
    for index, (name, (patterns, bugs)) in enumerate(mutants.items()):
        trials = by_mutant[index]
        caught = [trial for trial in trials if _is_caught(trial)]
        expected = [compile_glob(pattern) for pattern in patterns]
        failed = [f"{trial.id}:{c.path}" for trial in trials for c in trial.checks if c.verdict != "may"]
        rows.append(
            MutantResult(
                name,
                tuple(dict.fromkeys(trial.case for trial in caught)),
                tuple(id_ for id_ in failed if not any(pattern.match(id_) for pattern in expected)),
                sum(trial.verdict in ("faulted", "hang") for trial in trials),
                not bugs or any(bug in trial.guards for trial in caught for bug in bugs),
            )
        )
    return tuple(rows)


def find_idle_cases(cases: Iterable[str], trials: Iterable[TrialResult]) -> tuple[str, ...]:
    """Return the `cases` that no mutant fails on an unbroken stream.

    Faults do not count, because a mutant that treats the end of the bytes as the end of the answer fails
    every case that has faults.
    """
    # Calls have no stream, so their delivery is None.
    catching = {trial.case for trial in trials if _is_caught(trial) and trial.delivery in (None, *DELIVERIES)}
    return tuple(dict.fromkeys(case for case in cases if case not in catching))


def _is_caught(result: TrialResult) -> bool:
    return result.verdict in ("fail", "warn")
