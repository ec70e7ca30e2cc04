"""Collect the outcomes of implementations during a run, and group their differences by cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from streamconform.adapters.interface import Answer, Greeting, Observation
from streamconform.judge import decode
from streamconform.model.case import Case
from streamconform.model.outcome import Outcome
from streamconform.model.result import TrialResult
from streamconform.model.trial import DELIVERIES, AnyTrial, Trial
from streamconform.model.verdict import Check
from streamconform.run.plan import ImplementationPlan
from streamconform.tools.compare.differences import OutcomeDifference, find_differences

About = Literal["implementations", "deliveries", "invariant", "no answer"]
ABOUT: Final[Mapping[About, str]] = {
    "implementations": "Implementations differ",
    "deliveries": "The outcome depends on how the bytes came",
    "invariant": "Invariants are broken",
    "no answer": "No answer",
}
"""What a finding is about, and how a report calls it, in the order of reports."""

DELIVERY_ORDER: Final = {name: i for i, name in enumerate(DELIVERIES)}
NUMBERS: Final = re.compile(r"0x[0-9a-f]+|\d+")
IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")
"""Types of errors that may be shown: identifiers, not sentences of a recording."""


@dataclass(frozen=True, slots=True)
class DifferencePlace:
    """A location at which a difference occurs."""

    file: str
    delivery: str
    path: str
    check: Check | None
    reason: str | None = None
    """Of a missing answer, in the adapter's words."""
    sides: tuple[str, str] = ("expected", "got")
    """What the two values of the check are called: implementations, or deliveries of one."""


@dataclass(frozen=True, slots=True)
class DifferenceCause:
    """One kind of difference, and every location at which it occurs."""

    about: About
    who: tuple[int, ...]
    """The implementations, by position; of two the second parts from the first."""
    what: str
    """The leaf's path without positions, the invariant's name, or the kind of fault."""
    how: str
    places: tuple[DifferencePlace, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """Return the recordings, each once."""
        return tuple(dict.fromkeys(place.file for place in self.places))


@dataclass(frozen=True, slots=True)
class EndingRow:
    """The number of recordings of an API that end with one status and reason, per implementation."""

    api: str
    status: str
    reason: str
    """The stop reason; the type of the error where the status is `error`."""
    counts: tuple[int, ...]


class OutcomeCollector:
    """The outcomes of a run; equal ones are kept once."""

    def __init__(self) -> None:
        """Start without outcomes."""
        self.greetings: dict[int, Greeting] = {}
        self._outcomes: dict[tuple[str, int], dict[str, Outcome]] = {}

    def collect(self, judged: ImplementationPlan, trial: AnyTrial, answer: Answer) -> None:
        """Note an answer; one that is not in the normal form is the judge's business."""
        self.greetings[judged.index] = judged.greeting
        if not (isinstance(trial, Trial) and isinstance(answer, Observation)):
            return
        try:
            outcome = decode.decode_outcome(answer.outcome)
        except decode.MalformedError:
            return
        known = self._outcomes.setdefault((trial.case.id, judged.index), {})
        known[trial.delivery] = next((each for each in known.values() if each == outcome), outcome)

    def first(self, case: Case, implementation: int) -> tuple[str, Outcome] | None:
        """Return the first delivery, in the order of the table, that was answered, and its outcome."""
        known = self._outcomes.get((case.id, implementation), {})
        return min(known.items(), key=lambda item: DELIVERY_ORDER[item[0]], default=None)

    def others(self, case: Case, implementation: int) -> list[tuple[str, Outcome]]:
        """Return the outcomes of the other deliveries, in the order of the table."""
        known = self._outcomes.get((case.id, implementation), {})
        return sorted(known.items(), key=lambda item: DELIVERY_ORDER[item[0]])[1:]


def find_causes(
    cases: Sequence[Case], gathered: OutcomeCollector, results: Iterable[TrialResult], names: Sequence[str]
) -> tuple[DifferenceCause, ...]:
    """Return everything that was found of the implementations `names`, by cause, the most frequent first.

    Each implementation is compared with the first one, on the first delivery that it answered; each
    delivery with the first one of the same implementation.
    """
    groups: dict[tuple[About, tuple[int, ...], str, str], list[DifferencePlace]] = {}
    for about, who, kind, how, place in (
        *_between_implementations(cases, gathered, names),
        *_between_deliveries(cases, gathered, len(names)),
        *_between_checks(results),
    ):
        groups.setdefault((about, who, kind, how), []).append(place)
    found = [DifferenceCause(*key, tuple(places)) for key, places in groups.items()]
    order = list(ABOUT)
    return tuple(sorted(found, key=lambda each: (order.index(each.about), each.who, -len(each.files))))


CauseEntry = tuple[About, tuple[int, ...], str, str, DifferencePlace]


def _between_implementations(
    cases: Sequence[Case], gathered: OutcomeCollector, names: Sequence[str]
) -> Iterator[CauseEntry]:
    for case in cases:
        first = gathered.first(case, 0)
        for other in range(1, len(names)):
            second = gathered.first(case, other)
            if first is None or second is None:
                continue
            claims = gathered.greetings[0].claims(case.api) & gathered.greetings[other].claims(case.api)
            for each in find_differences(
                first[1], second[1], claims, case.cassette.body, same_implementation=False
            ):
                place = _make_place(case, second[0], each, (names[0], names[other]))
                yield "implementations", (0, other), each.kind, each.how, place


def _between_deliveries(
    cases: Sequence[Case], gathered: OutcomeCollector, count: int
) -> Iterator[CauseEntry]:
    for case in cases:
        for index in range(count):
            first = gathered.first(case, index)
            if first is None:
                continue
            claims = gathered.greetings[index].claims(case.api)
            for delivery, outcome in gathered.others(case, index):
                parted = find_differences(
                    first[1], outcome, claims, case.cassette.body, same_implementation=True
                )
                for each in parted:
                    place = _make_place(case, delivery, each, (first[0], delivery))
                    yield "deliveries", (index,), each.kind, each.how, place


def _between_checks(results: Iterable[TrialResult]) -> Iterator[CauseEntry]:
    """Yield the invariants that do not hold, and the trials without an answer."""
    for result in results:
        delivery = result.delivery or ""
        who = (result.implementation,)
        for check in result.checks:
            place = DifferencePlace(result.case, delivery, check.path, check)
            yield "invariant", who, check.path.removeprefix("invariant."), "", place
        if result.verdict in ("faulted", "hang") or (result.verdict == "fail" and not result.checks):
            kind = NUMBERS.sub("#", (result.reason or "").partition(":")[0])
            place = DifferencePlace(result.case, delivery, "", None, result.reason)
            yield "no answer", who, f"{result.verdict}: {kind}", "", place


def _make_place(
    case: Case, delivery: str, difference: OutcomeDifference, sides: tuple[str, str]
) -> DifferencePlace:
    return DifferencePlace(case.id, delivery, difference.path, difference.check, sides=sides)


def count_endings(cases: Sequence[Case], gathered: OutcomeCollector, count: int) -> tuple[EndingRow, ...]:
    """Return how the recordings ended on their first delivery, by api, status and reason."""
    counted: dict[tuple[str, str, str], Counter[int]] = {}
    for case in cases:
        for index in range(count):
            first = gathered.first(case, index)
            if first is not None:
                key = (case.api, *_get_ending(first[1]))
                counted.setdefault(key, Counter())[index] += 1
    return tuple(EndingRow(*key, tuple(n[i] for i in range(count))) for key, n in sorted(counted.items()))


def _get_ending(outcome: Outcome) -> tuple[str, str]:
    reason: Any = outcome.stop.reason
    if outcome.status == "error":
        reason = outcome.error.type if outcome.error else None
        if reason is not None and not IDENTIFIER.fullmatch(reason):
            reason = "(a sentence)"
    return outcome.status, reason or "-"
