"""Match known-failures entries against the trial and check ids of the full suite, without running anything.

The full suite is used so that a filtered run does not report entries for trials that it did not run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date

from msgspec import Struct, structs

from streamconform.adapters.interface import Observation
from streamconform.errors import Problem
from streamconform.judge.behavior import list_behavior_paths
from streamconform.judge.judge import check_observation, check_output
from streamconform.judge.request import list_check_paths
from streamconform.judge.round_trip import list_round_trip_paths
from streamconform.known_failures.match import FULL, CheckedPaths, Coverage, OutdatedEntry, to_problems
from streamconform.known_failures.model import Entry, KnownCause, KnownFailure, KnownFailures
from streamconform.model.capability import CAPABILITIES, Claims
from streamconform.model.case import AnyCase
from streamconform.model.request import RequestExpectation
from streamconform.model.trial import (
    DELIVERIES,
    OF_A_PROXY,
    AnyTrial,
    Behavior,
    Call,
    Delivered,
    RoundTrip,
    Trial,
)
from streamconform.suite.catalog import Catalog
from streamconform.suite.expand import expand
from streamconform.suite.pulled import is_recorded
from streamconform.suite.select import split_pattern
from streamconform.suite.sizes import is_sized

# Values are null or empty instead of absent, so that the checks on them, on events and on their timing are
# made.
EMPTY_ANSWER = Observation(
    {
        "status": "error",
        "content": [],
        "stop": {"reason": None, "raw": None},
        "model": None,
        "response_id": None,
    },
    [],
    (),
)
"""An answer without content, for which only the checks common to all answers are made."""


class KnownFailuresContext(Struct, frozen=True):
    """A known-failures file, with what is needed (besides the results) to find its outdated entries."""

    known: KnownFailures
    unmatched: frozenset[int]
    """Indexes of the entries that match nothing in the full suite."""
    today: date
    coverage: Coverage = FULL


def list_problems(
    contexts: Sequence[KnownFailuresContext], outdated: Sequence[Sequence[OutdatedEntry]]
) -> tuple[Problem, ...]:
    """Return the outdated entries in all files as problems, in file order."""
    return tuple(
        problem
        for context, entries in zip(contexts, outdated, strict=True)
        for problem in to_problems(context.known, entries)
    )


def get_checked_paths(trial: AnyTrial, claims: Claims) -> CheckedPaths:
    """Return the paths of the checks in `trial` for an implementation with `claims`."""
    if isinstance(trial, Call):
        expect = trial.case.expect
        if isinstance(expect, RequestExpectation):
            certain = frozenset(list_check_paths(structs.replace(expect, when=())))
            return CheckedPaths(certain, frozenset(list_check_paths(expect)))
        paths = frozenset(check.path for check in check_output(trial, None))
        return CheckedPaths(paths, paths)
    if isinstance(trial, RoundTrip):
        paths = list_round_trip_paths(trial, claims)
        return CheckedPaths(paths, paths)
    if isinstance(trial, Behavior):
        paths = list_behavior_paths(trial, claims)
        return CheckedPaths(paths, paths)
    certain = _get_paths(trial, claims)
    # A broken stream may end with any prefix of the complete content, so all paths in that content are
    # possible.
    complete = replace(trial, plan=Delivered(trial.chunks))
    whole = certain if trial.derived is None else _get_paths(complete, claims)
    return CheckedPaths(certain, certain | whole)


def find_unmatched(
    entries: Sequence[Entry], catalog: Catalog, selected: Iterable[AnyTrial], seed: int
) -> frozenset[int]:
    """Return the indexes of the entries that match nothing in the full suite, regardless of `selected`.

    The full suite has every delivery and fault. Its cases are loaded and expanded only if an entry matches
    their ids but no selected trial.
    """
    by_case: dict[str, list[AnyTrial]] = {}
    for trial in selected:
        by_case.setdefault(trial.case.id, []).append(trial)
    by_cause = {n: entry.api for n, entry in enumerate(entries) if isinstance(entry, KnownCause)}
    patterns = {n: entry for n, entry in enumerate(entries) if isinstance(entry, KnownFailure)}
    return _find_unmatched_patterns(patterns, catalog, by_case, seed) | _find_unmatched_apis(
        by_cause, catalog, by_case
    )


def _find_unmatched_apis(
    apis: Mapping[int, str], catalog: Catalog, selected: Collection[str]
) -> frozenset[int]:
    """Return the indexes of the APIs without a case; the ids of all cases are read only if necessary."""
    remaining = {n for n, api in apis.items() if not any(id_.startswith(f"{api}/") for id_ in selected)}
    return frozenset(n for n in remaining if not any(id_.startswith(f"{apis[n]}/") for id_ in catalog.ids))


def _find_unmatched_patterns(
    entries: Mapping[int, KnownFailure],
    catalog: Catalog,
    by_case: Mapping[str, Sequence[AnyTrial]],
    seed: int,
) -> frozenset[int]:
    if not entries:
        return frozenset()  # avoids reading the ids in every spec file
    # A run without pulled recordings, or without sizes, cannot check entries about them.
    absent = [kind for kind in (is_recorded, is_sized) if not any(map(kind, catalog.ids))]
    remaining = {n: entry for n, entry in entries.items() if not any(kind(entry.match) for kind in absent)}
    for case_id, trials in by_case.items():
        _drop_matched(remaining, case_id, trials)
    case_ids = [id_ for id_ in catalog.ids if any(_is_about(entry, id_) for entry in remaining.values())]
    for case in catalog.load(case_ids) if case_ids else ():
        if any(_is_about(entry, case.id) for entry in remaining.values()):
            _drop_matched(remaining, case.id, _expand_fully(case, seed))
    return frozenset(remaining)


def _is_about(entry: KnownFailure, case_id: str) -> bool:
    return split_pattern(entry.match).case.match(case_id) is not None


def _drop_matched(entries: dict[int, KnownFailure], case_id: str, trials: Sequence[AnyTrial]) -> None:
    """Remove the entries that match a trial of the case."""
    for index, entry in tuple(entries.items()):
        if _is_about(entry, case_id) and any(_matches(entry, trial) for trial in trials):
            del entries[index]


def _expand_fully(case: AnyCase, seed: int) -> tuple[AnyTrial, ...]:
    return tuple(expand([case], DELIVERIES, "http", seed, "all"))  # no other input mode has more deliveries


def _matches(entry: KnownFailure, trial: AnyTrial) -> bool:
    pattern = split_pattern(entry.match)
    if not pattern.matches_delivery(trial.delivery):
        return False
    if entry.match.partition(":")[2].startswith(OF_A_PROXY):
        return True  # only the program that reads the proxied stream knows its rules
    check = pattern.check
    # All capabilities are used, because whether an entry matches the suite does not depend on the
    # implementation.
    return check is None or any(check.match(path) for path in get_checked_paths(trial, CAPABILITIES).possible)


def _get_paths(trial: Trial, claims: Claims) -> frozenset[str]:
    checked = check_observation(trial, EMPTY_ANSWER, claims, lambda _: None)
    return frozenset(check.path for check in checked.checks)
