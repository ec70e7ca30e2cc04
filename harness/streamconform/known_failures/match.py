"""Apply known failures to results: change verdicts, and find outdated entries. Pure.

A file applies to one implementation or to every implementation in the run; the caller passes the results to
which its entries apply. Each trial that a pattern names has a `MatchStatus`; skipped trials do not count. An
entry for a cause covers the trials with that cause, and says how many there are.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, Literal, NamedTuple, TypeVar

from msgspec import Struct, structs

from streamconform.causes.roots import get_api, list_ids
from streamconform.errors import Problem
from streamconform.known_failures.model import Entry, KnownCause, KnownFailure, KnownFailures
from streamconform.model.result import TrialResult
from streamconform.model.verdict import Check
from streamconform.suite.select import split_pattern

T = TypeVar("T")
MatchStatus = Literal["matched", "passing", "mismatched", "inconclusive"]
"""How a trial relates to an entry that names it: it fails as the entry says, passes, fails in a different
way, or is inconclusive (the only difference is at level `may`, or the check may not have been made).
"""
OutdatedKind = Literal["stale", "grown", "too-wide", "unmatched", "expired", "duplicate"]
MAX_NAMED: Final = 3
"""The number of trials that a message names."""


class CheckedPaths(NamedTuple):
    """The paths judged in a trial."""

    certain: frozenset[str]
    possible: frozenset[str]
    """`certain` plus the paths that depend on the answer, such as those of blocks that may be missing from a
    broken stream.
    """


MALFORMED: Final = frozenset({"invariant.outcome-schema", "invariant.event-schema"})
"""If one of these checks fails, no others are made, because a malformed answer cannot be compared."""

GetPaths = Callable[[TrialResult], CheckedPaths]


class Coverage(Struct, frozen=True):
    """Which of the trials that a file lists are in a run."""

    counted: Literal["all", "part", "other"] = "all"
    """Whether the run has all trials in the file's scope, only a part of them, or those of another scope."""
    apis: frozenset[str] | None = None
    """The selected APIs; None for all."""

    def cut_short(self) -> Coverage:
        """Return the coverage of a run that stopped early."""
        return structs.replace(self, counted="part") if self.counted == "all" else self

    def includes(self, entry: Entry) -> bool:
        """Return whether all trials that `entry` lists are certainly of the selected APIs."""
        if self.apis is None:
            return True
        # A pattern that begins with a wildcard is in no set of APIs.
        api = entry.api if isinstance(entry, KnownCause) else entry.match.partition("/")[0]
        return api in self.apis


FULL: Final = Coverage()


@dataclass(frozen=True, slots=True)
class OutdatedEntry:
    """An entry that is no longer correct, identified by its index."""

    entry: int
    kind: OutdatedKind
    message: str


class Settler:
    """Applies the verdicts `known` and `stale` to the results of one implementation, one at a time.

    Results are settled during the run, so that `-x` stops at the first new failure.
    """

    def __init__(self, files: Iterable[KnownFailures], paths: GetPaths, *, strict: bool) -> None:
        """Use the entries of all `files`; if `strict`, warnings are failures."""
        pairs = [(entry, known.path) for known in files for entry in known.entries]
        self._entries = tuple((entry, path) for entry, path in pairs if isinstance(entry, KnownFailure))
        self._causes = {entry.key: entry for entry, _ in reversed(pairs) if isinstance(entry, KnownCause)}
        self._paths, self._strict = paths, strict
        self._entries_by_case: dict[str, tuple[tuple[KnownFailure, str], ...]] = {}

    def __call__(self, result: TrialResult) -> TrialResult:
        """Return `result`: `known` if entries cover all its failures, `stale` if a listed trial passes."""
        # Cached per case, not per result, because about twenty trials of a case run in a row.
        entries = self._entries_by_case.get(result.case)
        if entries is None:
            entries = tuple(
                pair for pair in self._entries if split_pattern(pair[0].match).case.match(result.case)
            )
            self._entries_by_case[result.case] = entries
        statuses = [(entry, path, get_match_status(entry, result, self._paths)) for entry, path in entries]
        if is_failure(result, strict=self._strict):
            matched = [entry for entry, _, status in statuses if status == "matched"]
            # Patterns come first, because they say more about a trial than its cause does.
            is_covered = _is_covered(result, matched, strict=self._strict)
            cause = None if is_covered else find_by_cause(self._causes, result)
            if is_covered or cause is not None:
                covering = (*matched, *(() if cause is None else (cause,)))
                reasons = dict.fromkeys(entry.reason for entry in covering)
                tracked = tuple(dict.fromkeys(entry.issue for entry in covering))
                return replace(result, verdict="known", known="; ".join(reasons), tracked=tracked)
        elif result.verdict == "pass":
            for entry, path, status in statuses:
                if status == "passing":
                    message = (
                        f"it passes, but {path}:{entry.line} lists it as a known failure ({entry.reason})"
                    )
                    return replace(result, verdict="stale", reason=message)
        return result


def is_failure(result: TrialResult, *, strict: bool) -> bool:
    """Return whether an unsettled result is a failure that an entry could list."""
    return result.verdict in ("fail", "hang", "faulted") or (strict and result.verdict == "warn")


def find_by_cause(by_cause: Mapping[tuple[str, str], T], result: TrialResult) -> T | None:
    """Return the value for the API and the cause of a failed trial, or else for the crash it may follow."""
    if not by_cause:
        return None
    api = get_api(result)
    return next((by_cause[api, id_] for id_ in list_ids(result) if (api, id_) in by_cause), None)


def group_by_entry(
    entries: Mapping[int, KnownCause], results: Iterable[TrialResult], *, strict: bool
) -> dict[int, list[TrialResult]]:
    """Return the failures among the unsettled `results` that belong to each entry, by its index."""
    groups: dict[tuple[str, str], list[TrialResult]] = {entry.key: [] for entry in entries.values()}
    for result in results:
        group = find_by_cause(groups, result) if is_failure(result, strict=strict) else None
        if group is not None:
            group.append(result)
    return {index: groups[entry.key] for index, entry in entries.items()}


def count_trials(results: Iterable[TrialResult]) -> int:
    """Return the number of results of the implementation that has most of them."""
    # A file that applies to several implementations lists what each of them does.
    return max(Counter(result.implementation for result in results).values(), default=0)


def list_judged_apis(results: Iterable[TrialResult]) -> frozenset[str]:
    """Return the APIs of which a trial was judged; nothing is known about the causes of others."""
    return frozenset(get_api(result) for result in results if result.verdict != "skipped")


def get_match_status(entry: KnownFailure, result: TrialResult, paths: GetPaths) -> MatchStatus | None:
    """Return how an unsettled `result` relates to `entry`, or None if the entry does not name it."""
    pattern = split_pattern(entry.match)
    if result.verdict == "skipped" or pattern.case.match(result.case) is None:
        return None
    if not pattern.matches_delivery(result.delivery):
        return None
    if pattern.check is None:
        return _match_trial(entry, result)
    return _match_check(entry, pattern.check, result, paths)


def _match_trial(entry: KnownFailure, result: TrialResult) -> MatchStatus:
    """Return how a trial relates to an entry about everything in it."""
    if result.verdict in ("hang", "faulted"):
        return _compare_failure(entry, result.verdict, describe_result(result))
    # If an adapter skips a trial that it claims, the trial fails without a check.
    if result.verdict in ("fail", "warn") or any(check.verdict != "may" for check in result.checks):
        return _compare_failure(entry, "fail", describe_result(result))
    return "inconclusive" if result.checks else "passing"


def _match_check(
    entry: KnownFailure, pattern: re.Pattern[str], result: TrialResult, paths: GetPaths
) -> MatchStatus | None:
    """Return how a trial relates to an entry about the checks that `pattern` matches."""
    checks = [check for check in result.checks if pattern.match(check.path)]
    failed = next((check for check in checks if check.verdict != "may"), None)
    if failed is not None:
        return _compare_failure(entry, "fail", describe_check(failed))
    if checks:
        return "inconclusive"
    # The check was never made, so the trial fails differently from the entry.
    if not _was_judged(result):
        return "mismatched"
    judged = paths(result)
    if any(map(pattern.match, judged.certain)):
        return "passing"
    return "inconclusive" if any(map(pattern.match, judged.possible)) else None


def _compare_failure(entry: KnownFailure, verdict: str, text: str) -> MatchStatus:
    has_message = entry.message is None or text.startswith(entry.message)
    return "matched" if entry.verdict == verdict and has_message else "mismatched"


def describe_result(result: TrialResult) -> str:
    """Return the text that must start with an entry's `message`: the worst check, or else the reason."""
    order = ("fail", "warn", "may")
    worst = min(result.checks, key=lambda check: order.index(check.verdict), default=None)
    return result.reason or "" if worst is None else describe_check(worst)


def describe_check(check: Check) -> str:
    """Return a failed check as `path: message`, or as `path: expected JSON, got JSON`."""
    # Users' known-failures files match the beginning of this text, so do not change its form.
    if check.message is not None:
        return f"{check.path}: {check.message}"
    expected, got = (json.dumps(value, ensure_ascii=False) for value in (check.expected, check.got))
    return f"{check.path}: expected {expected}, got {got}"


def find_outdated(
    known: KnownFailures,
    results: Sequence[TrialResult],
    paths: GetPaths,
    *,
    unmatched: Collection[int],
    today: date,
    coverage: Coverage = FULL,
    strict: bool = False,
) -> tuple[OutdatedEntry, ...]:
    """Return the outdated entries in `known`, given the unsettled `results` that it applies to.

    `unmatched` contains the indexes of the entries that match nothing in the full suite. An entry whose
    trials were all skipped or not run is left alone, as is one that may list trials of APIs that are not
    selected.
    """
    # Grouped, so that an entry's pattern is matched once per case instead of once per result.
    by_case: dict[str, list[TrialResult]] = {}
    for result in results:
        by_case.setdefault(result.case, []).append(result)
    by_entry, judged = group_by_entry(known.causes, results, strict=strict), list_judged_apis(results)
    outdated = []
    for index, entry in enumerate(known.entries):
        problems: Iterable[tuple[OutdatedKind, str]] = ()
        if isinstance(entry, KnownFailure):
            case = split_pattern(entry.match).case
            named = (result for id_, group in by_case.items() if case.match(id_) for result in group)
            problems = _check_statuses(
                entry, Counter(get_match_status(entry, result, paths) for result in named)
            )
        elif entry.api in judged:
            problems = _check_count(entry, by_entry[index], coverage)
        if coverage.includes(entry):
            outdated += [OutdatedEntry(index, *problem) for problem in problems]
        if index in unmatched:
            outdated.append(OutdatedEntry(index, "unmatched", _explain_unmatched(entry)))
        if entry.expires is not None and today > date.fromisoformat(entry.expires):
            message = f"expired on {entry.expires}: fix the failure or set a later date"
            outdated.append(OutdatedEntry(index, "expired", message))
    return tuple(sorted((*outdated, *_find_duplicates(known.entries)), key=lambda item: item.entry))


def to_problems(known: KnownFailures, outdated: Iterable[OutdatedEntry]) -> tuple[Problem, ...]:
    """Return the outdated entries as problems in the file, each with its line number."""
    return tuple(
        Problem(known.path, entry.line, f"{item.kind}: {entry.name} {item.message}")
        for item in outdated
        for entry in (known.entries[item.entry],)
    )


def _check_statuses(
    entry: KnownFailure, statuses: Counter[MatchStatus | None]
) -> Iterator[tuple[OutdatedKind, str]]:
    matched, passing, mismatched = statuses["matched"], statuses["passing"], statuses["mismatched"]
    if matched and passing:
        yield "too-wide", f"fails in only {matched} of {matched + passing} trials: narrow the pattern"
    elif not matched and mismatched:
        failure = f"`{entry.verdict}`" + (" with this message" if entry.message else "")
        yield "stale", f"no longer has {failure}, but fails in a different way: update or remove the entry"
    elif not matched and (passing or statuses["inconclusive"]):
        count = passing + statuses["inconclusive"]
        trials = "its trial passes" if count == 1 else f"all {count} trials pass"
        yield "stale", f"is fixed, {trials}: remove the entry"


def _check_count(
    entry: KnownCause, failed: Sequence[TrialResult], coverage: Coverage
) -> Iterator[tuple[OutdatedKind, str]]:
    count, listed = count_trials(failed), entry.trials
    if coverage.counted == "other":
        return
    if count > listed:
        # The trials that only raise the same exception are the likely ones.
        named = failed if len(failed) <= MAX_NAMED else [r for r in failed if list_ids(r)[0] != entry.cause]
        names = ", ".join(f"`{result.id}`" for result in named[:MAX_NAMED])
        new = f"the new ones (see {names})" if names else "the new ones"
        message = (
            f"fails in {count:,} trials, but lists {listed:,}: find {new} with `conform diff` and an"
            f" earlier run, or set `trials: {count}`"
        )
        yield "grown", message
    elif coverage.counted == "all" and not count:
        yield "stale", "is fixed: remove the entry"
    elif coverage.counted == "all" and count < listed:
        yield "stale", f"fails in only {count:,} of {listed:,} trials: set `trials: {count}`"


def _explain_unmatched(entry: Entry) -> str:
    if isinstance(entry, KnownCause):
        return "is of an API without cases in the suite: fix `api` or remove the entry"
    return "matches nothing in the suite (was a case renamed?): fix the pattern or remove the entry"


def _find_duplicates(entries: Sequence[Entry]) -> Iterator[OutdatedEntry]:
    first: dict[tuple[str | None, ...], int] = {}
    for index, entry in enumerate(entries):
        key = entry.key if isinstance(entry, KnownCause) else (entry.match, entry.verdict, entry.message)
        if key in first:
            message = f"is a duplicate of the entry on line {entries[first[key]].line}: remove one"
            yield OutdatedEntry(index, "duplicate", message)
        first.setdefault(key, index)


def _is_covered(result: TrialResult, matched: Sequence[KnownFailure], *, strict: bool) -> bool:
    """Return whether the patterns of `matched` cover every failing check of `result`."""
    checks = [check for entry in matched if (check := split_pattern(entry.match).check) is not None]
    if len(checks) < len(matched):
        return True  # an entry without a check covers the whole trial
    failed = [c for c in result.checks if c.verdict == "fail" or (strict and c.verdict == "warn")]
    return bool(failed) and all(any(check.match(f.path) for check in checks) for f in failed)


def _was_judged(result: TrialResult) -> bool:
    """Return whether there was a well-formed answer, so that it was compared with the expectation."""
    malformed = any(check.path in MALFORMED for check in result.checks)
    return not malformed and (bool(result.checks) or not is_failure(result, strict=False))
