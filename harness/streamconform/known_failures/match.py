"""Apply known failures to results: change verdicts, and find outdated entries. Pure.

A file applies to one implementation or to every implementation in the run; the caller passes the results to
which its entries apply. Each trial that an entry names has a `MatchStatus`; skipped trials do not count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, Literal, NamedTuple

from streamconform.errors import Problem
from streamconform.known_failures.model import KnownFailure, KnownFailures
from streamconform.model.result import TrialResult
from streamconform.model.verdict import Check
from streamconform.suite.select import split_pattern

MatchStatus = Literal["matched", "passing", "mismatched", "inconclusive"]
"""How a trial relates to an entry that names it: it fails as the entry says, passes, fails in a different
way, or is inconclusive (the only difference is at level `may`, or the check may not have been made).
"""
OutdatedKind = Literal["stale", "too-wide", "unmatched", "expired", "duplicate"]


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
        self._entries = tuple((entry, known.path) for known in files for entry in known.entries)
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
            if _is_covered(result, matched, strict=self._strict):
                reasons = dict.fromkeys(entry.reason for entry in matched)
                tracked = tuple(dict.fromkeys(entry.issue for entry in matched))
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


def get_match_status(entry: KnownFailure, result: TrialResult, paths: GetPaths) -> MatchStatus | None:
    """Return how an unsettled `result` relates to `entry`, or None if the entry does not name it."""
    pattern = split_pattern(entry.match)
    if result.verdict == "skipped" or pattern.case.match(result.case) is None:
        return None
    if not pattern.matches_delivery(result.delivery):
        return None
    if result.verdict in ("hang", "faulted"):
        # Such a trial has no checks, so an entry about a check cannot match it.
        same_verdict = pattern.check is None and entry.verdict == result.verdict
        return "matched" if same_verdict and _has_message(entry, describe_result(result)) else "mismatched"
    checks = [check for check in result.checks if pattern.check is None or pattern.check.match(check.path)]
    failed = [check for check in checks if check.verdict != "may"]
    # If an adapter skips a trial that it claims, the trial fails without a check.
    if failed or (pattern.check is None and result.verdict in ("fail", "warn")):
        text = describe_result(result) if pattern.check is None else describe_check(failed[0])
        return "matched" if entry.verdict == "fail" and _has_message(entry, text) else "mismatched"
    if checks:
        return "inconclusive"
    if pattern.check is None:
        return "passing"
    # The check was never made, so the trial fails differently from the entry.
    if not _was_judged(result):
        return "mismatched"
    judged = paths(result)
    if any(pattern.check.match(path) for path in judged.certain):
        return "passing"
    return "inconclusive" if any(pattern.check.match(path) for path in judged.possible) else None


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
) -> tuple[OutdatedEntry, ...]:
    """Return the outdated entries in `known`, given the unsettled `results` that it applies to.

    `unmatched` contains the indexes of the entries that match nothing in the full suite. An entry whose
    trials were all skipped or not run is left alone.
    """
    # Grouped, so that an entry's pattern is matched once per case instead of once per result.
    by_case: dict[str, list[TrialResult]] = {}
    for result in results:
        by_case.setdefault(result.case, []).append(result)
    outdated = []
    for index, entry in enumerate(known.entries):
        case = split_pattern(entry.match).case
        named = (result for id_, group in by_case.items() if case.match(id_) for result in group)
        statuses = Counter(get_match_status(entry, result, paths) for result in named)
        outdated += [OutdatedEntry(index, *problem) for problem in _check_statuses(entry, statuses)]
        if index in unmatched:
            message = (
                "matches nothing in the suite (was a case renamed?): fix the pattern or remove the entry"
            )
            outdated.append(OutdatedEntry(index, "unmatched", message))
        if entry.expires is not None and today > date.fromisoformat(entry.expires):
            message = f"expired on {entry.expires}: fix the failure or set a later date"
            outdated.append(OutdatedEntry(index, "expired", message))
    return tuple(sorted((*outdated, *_find_duplicates(known.entries)), key=lambda item: item.entry))


def to_problems(known: KnownFailures, outdated: Iterable[OutdatedEntry]) -> tuple[Problem, ...]:
    """Return the outdated entries as problems in the file, each with its line number."""
    return tuple(
        Problem(known.path, entry.line, f"{item.kind}: `{entry.match}` {item.message}")
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


def _find_duplicates(entries: Sequence[KnownFailure]) -> Iterator[OutdatedEntry]:
    first: dict[tuple[str, str, str | None], int] = {}
    for index, entry in enumerate(entries):
        key = (entry.match, entry.verdict, entry.message)
        if key in first:
            message = f"is a duplicate of the entry on line {entries[first[key]].line}: remove one"
            yield OutdatedEntry(index, "duplicate", message)
        first.setdefault(key, index)


def _is_covered(result: TrialResult, matched: Sequence[KnownFailure], *, strict: bool) -> bool:
    """Return whether the `matched` entries cover every failing check of `result`."""
    checks = [check for entry in matched if (check := split_pattern(entry.match).check) is not None]
    if len(checks) < len(matched):
        return True  # an entry without a check covers the whole trial
    failed = [c for c in result.checks if c.verdict == "fail" or (strict and c.verdict == "warn")]
    return bool(failed) and all(any(check.match(f.path) for check in checks) for f in failed)


def _was_judged(result: TrialResult) -> bool:
    """Return whether the answer was well-formed, so that it was compared with the expectation."""
    malformed = any(check.path in MALFORMED for check in result.checks)
    return not malformed and (result.verdict != "fail" or bool(result.checks))


def _has_message(entry: KnownFailure, text: str) -> bool:
    return entry.message is None or text.startswith(entry.message)
