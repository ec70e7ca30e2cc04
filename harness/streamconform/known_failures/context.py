"""What known failures are matched against: the ids of the full suite, without running anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from streamconform.adapters.interface import Observation
from streamconform.errors import Problem
from streamconform.judge.judge import check_observation, check_output
from streamconform.judge.request import list_check_paths
from streamconform.judge.round_trip import list_round_trip_paths
from streamconform.known_failures.match import Checked, Finding, problems
from streamconform.known_failures.model import KnownFailure, KnownFailures
from streamconform.model.capability import CAPABILITIES, Claims
from streamconform.model.case import AnyCase
from streamconform.model.request import RequestExpectation
from streamconform.model.trial import DELIVERIES, OF_A_PROXY, AnyTrial, Call, RoundTrip, Trial
from streamconform.suite.catalog import Catalog
from streamconform.suite.expand import expand
from streamconform.suite.select import split_pattern

NOTHING = Observation({"status": "error", "content": []}, [], ())
"""An answer without anything: what is judged of it is judged of every answer."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A known-failures file about what is judged, and what it is judged by besides the results."""

    known: KnownFailures
    unmatched: frozenset[int]
    """Numbers of entries that match nothing in the full suite."""
    today: date


def untrue(listed: Sequence[Listed], findings: Sequence[Sequence[Finding]]) -> tuple[Problem, ...]:
    """Return what is not true any more in the files, each with its findings, in their order."""
    return tuple(
        problem for each, own in zip(listed, findings, strict=True) for problem in problems(each.known, own)
    )


def checked(trial: AnyTrial, claims: Claims) -> Checked:
    """Return the paths of the checks that an implementation with `claims` gets in `trial`."""
    if isinstance(trial, Call):
        expect = trial.case.expect
        if isinstance(expect, RequestExpectation):
            only = frozenset(list_check_paths(expect))
        else:
            only = frozenset(each.path for each in check_output(trial, None))
        return Checked(only, only)
    if isinstance(trial, RoundTrip):
        only = list_round_trip_paths(trial, claims)
        return Checked(only, only)
    certain = _paths(trial, claims)
    whole = certain if trial.derived is None else _paths(replace(trial, derived=None), claims)
    return Checked(certain, certain | whole)


def unmatched(
    entries: Sequence[KnownFailure], catalog: Catalog, selected: Iterable[AnyTrial], seed: int
) -> frozenset[int]:
    """Return the numbers of the entries that match nothing in the full suite, whatever was `selected`.

    The full suite has every delivery and fault. Its cases are loaded and expanded only where an entry
    matches their id and no selected trial.
    """
    by_case: dict[str, list[AnyTrial]] = {}
    for trial in selected:
        by_case.setdefault(trial.case.id, []).append(trial)
    remaining = dict(enumerate(entries))
    for case_id, trials in by_case.items():
        _drop_matched(remaining, case_id, trials)
    case_ids = [id_ for id_ in catalog.ids if any(_about(entry, id_) for entry in remaining.values())]
    for case in catalog.load(case_ids) if case_ids else ():
        if any(_about(entry, case.id) for entry in remaining.values()):
            _drop_matched(remaining, case.id, _full(case, seed))
    return frozenset(remaining)


def _about(entry: KnownFailure, case_id: str) -> bool:
    return split_pattern(entry.match).case.match(case_id) is not None


def _drop_matched(entries: dict[int, KnownFailure], case_id: str, trials: Sequence[AnyTrial]) -> None:
    """Remove the entries that match a trial of the case."""
    for number, entry in tuple(entries.items()):
        if _about(entry, case_id) and any(_matches(entry, trial) for trial in trials):
            del entries[number]


def _full(case: AnyCase, seed: int) -> tuple[AnyTrial, ...]:
    return tuple(expand([case], DELIVERIES, "http", seed, "all"))  # no other input has more deliveries


def _matches(entry: KnownFailure, trial: AnyTrial) -> bool:
    where = split_pattern(entry.match)
    if not where.matches_delivery(trial.delivery):
        return False
    check = where.check
    if entry.match.partition(":")[2].startswith(OF_A_PROXY):
        return True  # which rules there are is known to who holds streams to them
    return check is None or any(check.match(path) for path in checked(trial, CAPABILITIES).possible)


def _paths(trial: Trial, claims: Claims) -> frozenset[str]:
    checks, _ = check_observation(trial, NOTHING, claims, lambda _: None)
    return frozenset(check.path for check in checks)
