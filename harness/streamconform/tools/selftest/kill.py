"""The kill matrix: which case catches which broken parser. Pure, over the results of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamconform.model.result import TrialResult
from streamconform.model.trial import DELIVERIES
from streamconform.run.results import Results
from streamconform.suite.select import compile_glob


@dataclass(frozen=True, slots=True)
class Killed:
    """What became of one mutant: the cases that caught it, and failures where it should not have any."""

    name: str
    cases: tuple[str, ...]
    astray: tuple[str, ...]
    """Ids of failed checks that none of the mutant's patterns means."""
    faulted: int
    """Trials without an answer: a mutant is wrong, it does not crash."""
    named: bool
    """Whether a case that caught it guards against a bug that it stands for."""

    @property
    def dead(self) -> bool:
        """Return whether the suite caught it, by a case that names its bug, and only where it is broken."""
        return bool(self.cases) and self.named and not self.astray and not self.faulted


def matrix(
    results: Results, mutants: Mapping[str, tuple[Sequence[str], Sequence[str]]]
) -> tuple[Killed, ...]:
    """Return a row for each of `mutants` (name to patterns and bugs); the run judged them in this order."""
    rows = []
    for index, (name, (patterns, bugs)) in enumerate(mutants.items()):
        own = [each for each in results.trials if each.implementation == index]
        meant = [compile_glob(pattern) for pattern in patterns]
        failed = [f"{each.id}:{c.path}" for each in own for c in each.checks if c.verdict != "may"]
        rows.append(
            Killed(
                name,
                tuple(dict.fromkeys(each.case for each in own if _caught(each))),
                tuple(id_ for id_ in failed if not any(pattern.match(id_) for pattern in meant)),
                sum(each.verdict in ("faulted", "hang") for each in own),
                any(bug in each.guards for each in own if _caught(each) for bug in bugs),
            )
        )
    return tuple(rows)


def idle(trials: Sequence[TrialResult]) -> tuple[str, ...]:
    """Return the cases that catch no mutant by what they expect.

    Faults do not count: whoever takes the end of the bytes for the end of the answer fails in every case.
    """
    busy = {each.case for each in trials if _caught(each) and each.delivery in (None, *DELIVERIES)}
    return tuple(dict.fromkeys(each.case for each in trials if each.case not in busy))


def _caught(result: TrialResult) -> bool:
    return result.verdict in ("fail", "warn")
