"""The findings in one recording: differences, broken invariants and missing answers. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from streamconform.causes.roots import explain_checks
from streamconform.causes.table import Harm
from streamconform.model.capability import Claims
from streamconform.model.case import Case
from streamconform.model.outcome import Outcome
from streamconform.model.result import TrialResult
from streamconform.model.trial import DELIVERIES
from streamconform.model.verdict import Check
from streamconform.printable import escape_line
from streamconform.reports.describe import describe_difference
from streamconform_capture.compare.differences import find_differences

About = Literal["implementations", "deliveries", "invariant", "no answer"]
ABOUT: Final[Mapping[About, str]] = {
    "implementations": "Implementations differ",
    "deliveries": "The outcome depends on the chunks",
    "invariant": "Invariants are broken",
    "no answer": "No answer",
}
"""The subjects of findings, with their display names, in report order."""

DELIVERY_ORDER: Final = {name: number for number, name in enumerate(DELIVERIES)}
NUMBERS: Final = re.compile(r"0x[0-9a-f]+|\d+")
MAX_KIND: Final = 80
"""The maximum length of the adapter's own text in the reason for a missing answer."""
IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")
"""Matches error types that may be shown: identifiers, as opposed to sentences from a recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding in one trial of a recording."""

    about: About
    who: tuple[int, ...]
    """The implementations' positions; if there are two, the second differs from the first."""
    what: str
    """The headline, without recorded text; findings with the same headline have the same cause."""
    harm: str | None
    """The effect on a user if the first implementation is right; None if no implementation answered."""
    file: str
    size: int
    """Bytes of the recording."""
    delivery: str
    path: str
    words: tuple[str, ...]
    """The two values, including recorded text."""


@dataclass(frozen=True, slots=True)
class Answers:
    """One implementation's answers to the trials of a recording."""

    claims: Claims
    results: tuple[TrialResult, ...]
    outcomes: Mapping[str, Outcome]
    """Outcomes keyed by delivery, in the order of `DELIVERIES`; only those in the normal form."""
    answered: int
    """The number of trials with an answer of any kind."""
    skipped: Counter[str]
    """The number of trials that were not run, by reason."""

    @property
    def first(self) -> tuple[str, Outcome] | None:
        """Return the first delivery that was answered, and its outcome."""
        return next(iter(self.outcomes.items()), None)


def find_findings(case: Case, answers: Sequence[Answers], names: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings in the answers to one recording; `names` are the implementations' names.

    Each implementation is compared with the first one, using the first delivery that each one answered.
    Each delivery is compared with the first delivery that the same implementation answered.
    """
    yield from _compare_implementations(case, answers, names)
    for index, each in enumerate(answers):
        yield from _compare_deliveries(case, index, each)
        yield from _read_results(case, index, each.results)


def get_ending(outcome: Outcome) -> tuple[str, str]:
    """Return the status and stop reason, or the type of the error."""
    reason: Any = outcome.stop.reason
    if outcome.status == "error":
        reason = outcome.error.type if outcome.error else None
        if reason is not None and not IDENTIFIER.fullmatch(reason):
            reason = "(a sentence)"
    return outcome.status, reason or "-"


def _compare_implementations(
    case: Case, answers: Sequence[Answers], names: Sequence[str]
) -> Iterator[Finding]:
    baseline, *others = answers
    for other, each in enumerate(others, start=1):
        if baseline.first is None or each.first is None:
            continue
        checks = find_differences(
            baseline.first[1],
            each.first[1],
            baseline.claims & each.claims,
            case.cassette.body,
            same_implementation=False,
        )
        yield from _explain(
            case, "implementations", (0, other), each.first[0], checks, (names[0], names[other])
        )


def _compare_deliveries(case: Case, index: int, answers: Answers) -> Iterator[Finding]:
    if answers.first is None:
        return
    first, outcome = answers.first
    for delivery, other in answers.outcomes.items():
        checks = find_differences(
            outcome, other, answers.claims, case.cassette.body, same_implementation=True
        )
        yield from _explain(case, "deliveries", (index,), delivery, checks, (first, delivery))


def _read_results(case: Case, index: int, results: Sequence[TrialResult]) -> Iterator[Finding]:
    for result in results:
        delivery = result.delivery or ""
        yield from _explain(case, "invariant", (index,), delivery, result.checks, ("expected", "got"))
        if result.verdict in ("faulted", "hang") or (result.verdict == "fail" and not result.checks):
            # Without their numbers, such as addresses or offsets, equal reasons are one cause.
            kind = NUMBERS.sub("#", (result.reason or "").partition(":")[0])[:MAX_KIND]
            yield Finding(
                about="no answer",
                who=(index,),
                what=f"{result.verdict}: {kind}",
                harm=None,
                file=case.id,
                size=len(case.cassette.body),
                delivery=delivery,
                path="",
                words=(escape_line(result.reason, 300),) if result.reason else (),
            )


def _explain(
    case: Case,
    about: About,
    who: tuple[int, ...],
    delivery: str,
    checks: Sequence[Check],
    sides: tuple[str, str],
) -> Iterator[Finding]:
    """Yield a finding for each headline of `checks`."""
    if not checks:
        return
    result = TrialResult(
        implementation=who[-1],
        id=f"{case.id}@{delivery}",
        case=case.id,
        delivery=delivery,
        level="must",
        verdict="fail",
        culprit="implementation",
        ms=0.0,
        checks=tuple(checks),
    )
    headlines: dict[str, tuple[Check, Harm]] = {}
    for check, headline, harm in explain_checks(result):
        headlines.setdefault(headline, (check, harm))
    for headline, (check, harm) in headlines.items():
        yield Finding(
            about=about,
            who=who,
            what=headline,
            harm=harm,
            file=case.id,
            size=len(case.cassette.body),
            delivery=delivery,
            path=check.path,
            words=tuple(describe_difference(check, sides)),
        )
