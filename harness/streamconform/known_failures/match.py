"""Known failures against results: which verdicts they change, and which entries are not true any more. Pure.

A file is about one implementation, or about every one of the run: whoever calls gives the results that its
entries are about. A trial that one matches is as listed, passes, fails otherwise than listed, or differs
where that has no consequence; what was skipped does not count.
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

Standing = Literal["listed", "passes", "otherwise", "leeway"]
"""How a trial stands to an entry that matches it; `leeway`: it differs at level `may`, or the check may not
have been made."""
Kind = Literal["stale", "too-wide", "unmatched", "expired", "duplicate"]


class Checked(NamedTuple):
    """The paths that a trial is judged on."""

    certain: frozenset[str]
    possible: frozenset[str]
    """Those too that depend on what came: of a stream that broke, the blocks that need not come."""


MALFORMED: Final = frozenset({"invariant.outcome-schema", "invariant.event-schema"})
"""The check that stands alone where there is nothing that others could be made on."""

Paths = Callable[[TrialResult], Checked]


@dataclass(frozen=True, slots=True)
class Finding:
    """An entry, by its number, that is not true any more."""

    entry: int
    kind: Kind
    words: str


class Settler:
    """Gives results of one implementation the verdicts `known` and `stale`, one at a time, as they come."""

    def __init__(self, files: Iterable[KnownFailures], paths: Paths, *, strict: bool) -> None:
        """Settle by the entries of all `files`; under `strict` a warning is a failure."""
        self._listed = tuple((entry, known.path) for known in files for entry in known.entries)
        self._paths, self._strict = paths, strict
        self._about: dict[str, tuple[tuple[KnownFailure, str], ...]] = {}

    def __call__(self, result: TrialResult) -> TrialResult:
        """Return `result`, `known` if all that fails of it is listed, `stale` if it is listed and passes."""
        entries = self._about.get(result.case)
        if entries is None:
            entries = tuple(
                each for each in self._listed if split_pattern(each[0].match).case.match(result.case)
            )
            self._about[result.case] = entries
        stands = [(entry, path, standing(entry, result, self._paths)) for entry, path in entries]
        if fails(result, strict=self._strict):
            listed = [entry for entry, _, stand in stands if stand == "listed"]
            if _covered(result, listed, strict=self._strict):
                reasons = dict.fromkeys(entry.reason for entry in listed)
                tracked = tuple(dict.fromkeys(entry.issue for entry in listed))
                return replace(result, verdict="known", known="; ".join(reasons), tracked=tracked)
        elif result.verdict == "pass":
            for entry, path, stand in stands:
                if stand == "passes":
                    words = f"listed in {path}:{entry.line} ({entry.reason}), but it passes"
                    return replace(result, verdict="stale", reason=words)
        return result


def fails(result: TrialResult, *, strict: bool) -> bool:
    """Return whether a result, not settled yet, is a failure that could be listed."""
    return result.verdict in ("fail", "hang", "faulted") or (strict and result.verdict == "warn")


def standing(entry: KnownFailure, result: TrialResult, paths: Paths) -> Standing | None:
    """Return how `result`, not settled yet, stands to `entry`; None where the entry is not about it."""
    where = split_pattern(entry.match)
    if result.verdict == "skipped" or where.case.match(result.case) is None:
        return None
    if not where.matches_delivery(result.delivery):
        return None
    if result.verdict in ("hang", "faulted"):
        fits = where.check is None and entry.verdict == result.verdict and _begins(entry, message(result))
        return "listed" if fits else "otherwise"
    own = [check for check in result.checks if where.check is None or where.check.match(check.path)]
    failed = [check for check in own if check.verdict != "may"]
    if failed or (where.check is None and result.verdict in ("fail", "warn")):
        first = message(result) if where.check is None else said(failed[0])
        return "listed" if entry.verdict == "fail" and _begins(entry, first) else "otherwise"
    if own:
        return "leeway"
    if where.check is None:
        return "passes"
    if not _judged(result):
        return "otherwise"
    judged = paths(result)
    if any(where.check.match(path) for path in judged.certain):
        return "passes"
    return "leeway" if any(where.check.match(path) for path in judged.possible) else None


def message(result: TrialResult) -> str:
    """Return what an entry's `message` is compared with: the reason of a result, or its worst check, said."""
    order = ("fail", "warn", "may")
    worst = min(result.checks, key=lambda check: order.index(check.verdict), default=None)
    return result.reason or "" if worst is None else said(worst)


def said(check: Check) -> str:
    """Return a check that failed as `path: message`, or as `path: expected JSON, got JSON`."""
    if check.message is not None:
        return f"{check.path}: {check.message}"
    expected, got = (json.dumps(each, ensure_ascii=False) for each in (check.expected, check.got))
    return f"{check.path}: expected {expected}, got {got}"


def audit(
    known: KnownFailures,
    results: Sequence[TrialResult],
    paths: Paths,
    *,
    unmatched: Collection[int],
    today: date,
) -> tuple[Finding, ...]:
    """Return what is not true any more of each entry, after `results`, not settled, that they are about.

    `unmatched` are the numbers of the entries that match nothing in the full suite. An entry that only
    matches what was not run, or was skipped, is not judged.
    """
    by_case: dict[str, list[TrialResult]] = {}
    for result in results:
        by_case.setdefault(result.case, []).append(result)
    found = []
    for number, entry in enumerate(known.entries):
        case = split_pattern(entry.match).case
        own = (each for id_, group in by_case.items() if case.match(id_) for each in group)
        stands = Counter(standing(entry, each, paths) for each in own)
        found += [Finding(number, *told) for told in _untrue(entry, stands)]
        if number in unmatched:
            words = "matches nothing in the suite: was a case renamed? Mend the pattern, or remove the entry"
            found.append(Finding(number, "unmatched", words))
        if entry.expires is not None and today > date.fromisoformat(entry.expires):
            words = f"expired on {entry.expires}: mend the failure, or decide on another day"
            found.append(Finding(number, "expired", words))
    return tuple(sorted((*found, *_duplicates(known.entries)), key=lambda each: each.entry))


def problems(known: KnownFailures, findings: Iterable[Finding]) -> tuple[Problem, ...]:
    """Return the findings as problems of the file, each at the line of its entry."""
    return tuple(
        Problem(known.path, entry.line, f"{each.kind}: `{entry.match}` {each.words}")
        for each in findings
        for entry in (known.entries[each.entry],)
    )


def _untrue(entry: KnownFailure, stands: Counter[Standing | None]) -> Iterator[tuple[Kind, str]]:
    listed, passing, otherwise = stands["listed"], stands["passes"], stands["otherwise"]
    if listed and passing:
        words = f"fails in {listed} of {listed + passing} trials, the others pass: narrow it"
        yield "too-wide", words
    elif not listed and otherwise:
        as_listed = f"has no `{entry.verdict}`" + (" with this message" if entry.message else "")
        yield "stale", f"{as_listed} any more, but fails otherwise: say how, or remove the entry"
    elif not listed and (passing or stands["leeway"]):
        count = passing + stands["leeway"]
        trials = "its trial passes" if count == 1 else f"all of its {count} trials pass"
        yield "stale", f"is mended, {trials}: remove the entry"


def _duplicates(entries: Sequence[KnownFailure]) -> Iterator[Finding]:
    first: dict[tuple[str, str, str | None], int] = {}
    for number, entry in enumerate(entries):
        key = (entry.match, entry.verdict, entry.message)
        if key in first:
            words = f"stands twice, first in line {entries[first[key]].line}: remove one"
            yield Finding(number, "duplicate", words)
        first.setdefault(key, number)


def _covered(result: TrialResult, listed: Sequence[KnownFailure], *, strict: bool) -> bool:
    """Return whether entries that a result stands in as listed make up for all that fails in it."""
    checks = [each for entry in listed if (each := split_pattern(entry.match).check) is not None]
    if len(checks) < len(listed):
        return True
    failed = [c for c in result.checks if c.verdict == "fail" or (strict and c.verdict == "warn")]
    return bool(failed) and all(any(each.match(check.path) for each in checks) for check in failed)


def _judged(result: TrialResult) -> bool:
    """Return whether the checks of the expectation were made: not where an answer has not the normal form."""
    unjudged = any(check.path in MALFORMED for check in result.checks)
    return not unjudged and (result.verdict != "fail" or bool(result.checks))


def _begins(entry: KnownFailure, text: str) -> bool:
    return entry.message is None or text.startswith(entry.message)
