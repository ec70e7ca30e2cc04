"""A run as the one JSON value that the page is drawn from: small where all is well, whole where it is not.

Every trial is a letter in a grid. Trials that did not pass are grouped by what failed; of each group one
is shown in full, as long as the page stays small enough to open.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamconform.model.result import TrialResult
from streamconform.model.verdict import Verdict
from streamconform.reports import history
from streamconform.reports.causes import Cause, causes
from streamconform.reports.html.failures import Budget, Failures
from streamconform.reports.html.source import Suite
from streamconform.reports.words import called, printable, unexpected, warned
from streamconform.run.results import Results

LETTERS: Final[Mapping[Verdict, str]] = {
    "pass": "p",
    "fail": "f",
    "warn": "w",
    "known": "k",
    "stale": "t",
    "skipped": "x",
    "faulted": "e",
    "hang": "h",
}
ABSENT: Final = "."
"""In the grid: this implementation has no such trial."""
MAX_CHANGES: Final = 2000
"""Rows of each kind of change since an earlier run."""


def document(results: Results, suite: Suite, baseline: Results | None = None) -> dict[str, Any]:
    """Return the value; keys are explained where the page's script reads them (`js/model.js`)."""
    cases = _Cases(results, suite)
    since = None if baseline is None else history.compare(baseline, results)
    fresh = frozenset() if since is None else _keys(since.of("new"))
    made = Failures(results, suite, cases.index, fresh, Budget())
    failed, uncertain = unexpected(results), warned(results)
    listed = [
        *_causes("unexpected", failed, made, frequent_first=True),
        *_causes("warn", uncertain, made, frequent_first=True),
        *_causes("known", _of(results, "known"), made, frequent_first=True),
    ]
    return {
        "version": results.header.version,
        "seed": results.header.seed,
        "impls": _implementations(results),
        "tags": cases.tags,
        "deliveries": cases.deliveries,
        "sets": cases.sets,
        "cases": cases.rows,
        "grid": cases.grid(results),
        "causes": listed,
        "failures": made.rows,
        "about": made.about,
        "wires": made.wires,
        "left": made.budget.left_out,
        "skipped": _skipped(results),
        "since": None if since is None else _since(since),
    }


class _Cases:
    """The cases of a run, their deliveries and tags, each name once."""

    def __init__(self, results: Results, suite: Suite) -> None:
        order: dict[str, dict[str, None]] = {}
        titles: dict[str, str] = {}
        for trial in results.trials:
            order.setdefault(trial.case, {})[trial.delivery or ""] = None
            if trial.title:
                titles[trial.case] = trial.title
        self.index = {name: number for number, name in enumerate(order)}
        self.deliveries: list[str] = list(dict.fromkeys(name for names in order.values() for name in names))
        self.tags: list[str] = sorted({tag for name in order for tag in _tags(suite, name)})
        at = {name: number for number, name in enumerate(self.deliveries)}
        tag_at = {name: number for number, name in enumerate(self.tags)}
        known: dict[tuple[int, ...], int] = {}
        self.rows: list[list[Any]] = []
        self._places: list[dict[str, int]] = []
        for name, names in order.items():
            numbers = tuple(at[each] for each in names)
            case = suite.cases.get(name)
            title = titles.get(name) or (case.title if case else "")
            tags = [tag_at[tag] for tag in _tags(suite, name)]
            self.rows.append([name, title, tags, known.setdefault(numbers, len(known))])
            self._places.append({each: place for place, each in enumerate(names)})
        self.sets = [list(numbers) for numbers in known]

    def grid(self, results: Results) -> list[list[str]]:
        """Return for each implementation and case a letter a delivery; one letter where all are the same."""
        letters = [
            [[ABSENT] * len(places) for places in self._places] for _ in results.header.implementations
        ]
        for trial in results.trials:
            number = self.index[trial.case]
            place = self._places[number][trial.delivery or ""]
            letters[trial.implementation][number][place] = LETTERS[trial.verdict]
        return [[_shortest(row) for row in rows] for rows in letters]


def _shortest(row: list[str]) -> str:
    return row[0] if len(set(row)) == 1 else "".join(row)


def _tags(suite: Suite, case: str) -> list[str]:
    found = suite.cases.get(case)
    return sorted(found.tags) if found else []


def _of(results: Results, verdict: Verdict) -> list[TrialResult]:
    return [each for each in results.trials if each.verdict == verdict]


def _implementations(results: Results) -> list[dict[str, Any]]:
    counts = Counter((each.implementation, each.verdict) for each in results.trials)
    return [
        {
            "name": name,
            "impl": info.impl,
            "version": info.version,
            "language": info.language,
            "input": info.input,
            "issues": info.issues,
            "counts": {letter: counts[at, verdict] for verdict, letter in LETTERS.items()},
        }
        for at, (name, info) in enumerate(
            zip(called(results.header), results.header.implementations, strict=True)
        )
    ]


def _causes(
    kind: str, trials: Iterable[TrialResult], made: Failures, *, frequent_first: bool
) -> list[dict[str, Any]]:
    """Return the causes of `trials`, those of the most trials first.

    Each has a failure in full before any has two: what is left out where room ends is a further example.
    """
    found = sorted(causes(trials), key=lambda cause: -cause.trials if frequent_first else 0)
    rows = [
        (cause, [made.add(failure, cause.implementation) for failure in cause.failures]) for cause in found
    ]
    for depth in range(max((len(numbers) for _, numbers in rows), default=0)):
        for _, numbers in rows:
            if depth < len(numbers):
                made.fill(numbers[depth])
    return [_cause(kind, cause, numbers) for cause, numbers in rows]


def _cause(kind: str, cause: Cause, numbers: list[int]) -> dict[str, Any]:
    first = cause.failures[0].first
    return {
        "kind": kind,
        "i": cause.implementation,
        "what": printable(cause.what, 300),
        "verdict": LETTERS[first.verdict],
        "culprit": first.culprit,
        "trials": cause.trials,
        "cases": len({failure.first.case for failure in cause.failures}),
        "f": numbers,
    }


def _skipped(results: Results) -> list[list[Any]]:
    """Return [implementation, reason, trials] of what was not judged, the commonest first."""
    counts = Counter((each.implementation, each.reason or "") for each in _of(results, "skipped"))
    return [[at, printable(reason, 300), count] for (at, reason), count in counts.most_common(200)]


def _keys(changes: Iterable[history.Change]) -> frozenset[tuple[int, str]]:
    return frozenset((each.shown.implementation, each.shown.id) for each in changes)


def _since(since: history.History) -> dict[str, Any]:
    """Return the counts of each kind of change, and those that are told one by one."""
    before = since.before.header
    return {
        "counts": dict(since.counts),
        "version": before.version,
        "names": list(called(before)),
        "rows": {kind: _changes(since, kind) for kind in ("new", "fixed", "still", "gone")},
    }


def _changes(since: history.History, kind: history.Kind) -> list[list[Any]]:
    """Return [implementation now or null, case, title, deliveries] of each change, a row a case."""
    now = {old: new for new, old in since.pairs.items()}
    rows: dict[tuple[float, str], list[Any]] = {}
    for each in since.of(kind):
        shown = each.shown
        at = shown.implementation if each.after is not None else now.get(shown.implementation)
        row = rows.setdefault(
            (math.inf if at is None else at, shown.case), [at, shown.case, shown.title or "", []]
        )
        row[3].append(shown.delivery or "")
    return list(rows.values())[:MAX_CHANGES]
