"""A run as a JSON value, which the page's script renders.

The page is rendered in the browser, from a value with one letter per trial: 20,000 trials take a few hundred
kilobytes. Bytes and values are included only for failures, within a budget that is spent on the first example
of every cause before any second example.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from streamconform.model.result import TrialResult
from streamconform.model.verdict import Verdict
from streamconform.printable import escape_line
from streamconform.reports import history
from streamconform.reports.causes import (
    Cause,
    CauseLists,
    Failure,
    describe_also,
    describe_harm,
    group_by_cause,
)
from streamconform.reports.describe import name_implementations
from streamconform.reports.html.failures import Budget, FailureRows
from streamconform.reports.html.source import Suite
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
"""The letter for each verdict in the grid; `js/model.js` has the same table."""
SIGNS: Final[Mapping[Verdict, str]] = {
    "pass": "✓",
    "fail": "✗",
    "warn": "!",
    "known": "K",
    "stale": "S",
    "skipped": "\u2013",
    "faulted": "E",
    "hang": "H",
}
"""The mark for each verdict."""
ABSENT: Final = "."
"""Marks a grid cell for a trial that the implementation does not have."""
MAX_CHANGES: Final = 2000
"""The maximum number of rows per kind of change since an earlier run."""
MAX_SKIP_REASONS: Final = 200


def results_to_json(
    results: Results, suite: Suite, causes: CauseLists, baseline: Results | None = None
) -> dict[str, Any]:
    """Return the value; its keys are explained where the page's script reads them (`js/model.js`)."""
    cases = _CaseIndex(results, suite)
    changes = None if baseline is None else history.compare_results(baseline, results)
    new = frozenset() if changes is None else _trial_keys(changes.select("new"))
    failures = FailureRows(results, suite, cases.numbers, new, Budget())
    return {
        "version": results.header.version,
        "seed": results.header.seed,
        "strict": bool(results.header.selection.get("strict")),
        "signs": {letter: SIGNS[verdict] for verdict, letter in LETTERS.items()},
        "impls": _implementations_to_json(results),
        "tags": cases.tags,
        "deliveries": cases.deliveries,
        "sets": cases.delivery_sets,
        "cases": cases.rows,
        "grid": cases.make_grid(results),
        "causes": _causes_to_json(_name_lists(causes, results), failures),
        "failures": failures.rows,
        "about": failures.about,
        "wires": failures.wires,
        "bodies": failures.bodies,
        "left": failures.budget.left_out,
        "skipped": _skips_to_json(results),
        "since": None if changes is None else _history_to_json(changes),
    }


class _CaseIndex:
    """Numbers the cases, deliveries and tags of a run, so that the value contains each name only once."""

    def __init__(self, results: Results, suite: Suite) -> None:
        deliveries_by_case: dict[str, dict[str, None]] = {}
        titles: dict[str, str] = {}
        for trial in results.trials:
            deliveries_by_case.setdefault(trial.case, {})[trial.delivery or ""] = None
            if trial.title:
                titles[trial.case] = trial.title
        self.numbers = {name: number for number, name in enumerate(deliveries_by_case)}
        self.deliveries: list[str] = list(
            dict.fromkeys(name for names in deliveries_by_case.values() for name in names)
        )
        self.tags: list[str] = sorted({tag for name in deliveries_by_case for tag in _list_tags(suite, name)})
        delivery_numbers = {name: number for number, name in enumerate(self.deliveries)}
        tag_numbers = {name: number for number, name in enumerate(self.tags)}
        set_numbers: dict[tuple[int, ...], int] = {}
        self.rows: list[list[Any]] = []
        self._positions: list[dict[str, int]] = []
        for name, deliveries in deliveries_by_case.items():
            delivery_set = tuple(delivery_numbers[delivery] for delivery in deliveries)
            case = suite.cases.get(name)
            title = titles.get(name) or (case.title if case else "")
            tags = [tag_numbers[tag] for tag in _list_tags(suite, name)]
            set_number = set_numbers.setdefault(delivery_set, len(set_numbers))
            self.rows.append([name, title, tags, set_number])
            self._positions.append({delivery: position for position, delivery in enumerate(deliveries)})
        self.delivery_sets = [list(delivery_set) for delivery_set in set_numbers]

    def make_grid(self, results: Results) -> list[list[str]]:
        """Return a string per implementation and case: one letter per delivery, or just one if all agree."""
        letters = [
            [[ABSENT] * len(positions) for positions in self._positions]
            for _ in results.header.implementations
        ]
        for trial in results.trials:
            number = self.numbers[trial.case]
            position = self._positions[number][trial.delivery or ""]
            letters[trial.implementation][number][position] = LETTERS[trial.verdict]
        return [[_join_letters(row) for row in rows] for rows in letters]


def _join_letters(row: list[str]) -> str:
    return row[0] if len(set(row)) == 1 else "".join(row)


def _list_tags(suite: Suite, case_id: str) -> list[str]:
    case = suite.cases.get(case_id)
    return sorted(case.tags) if case else []


def _select_verdict(results: Results, verdict: Verdict) -> list[TrialResult]:
    return [trial for trial in results.trials if trial.verdict == verdict]


def _implementations_to_json(results: Results) -> list[dict[str, Any]]:
    counts = Counter((trial.implementation, trial.verdict) for trial in results.trials)
    implementations = zip(name_implementations(results.header), results.header.implementations, strict=True)
    return [
        {
            "name": name,
            "impl": info.impl,
            "version": info.version,
            "language": info.language,
            "input": info.input,
            "issues": info.issues,
            "counts": {letter: counts[number, verdict] for verdict, letter in LETTERS.items()},
        }
        for number, (name, info) in enumerate(implementations)
    ]


def _name_lists(causes: CauseLists, results: Results) -> list[tuple[str, tuple[Cause, ...]]]:
    """Return the causes in each of the page's lists, by the list's name, the worst harm first."""
    known = group_by_cause(_select_verdict(results, "known"))
    return [
        ("unexpected", causes.failed),
        ("warn", causes.warned),
        ("adapter", causes.adapter),
        ("known", known),
    ]


def _causes_to_json(
    lists: Iterable[tuple[str, tuple[Cause, ...]]], failures: FailureRows
) -> list[dict[str, Any]]:
    """Return the causes with the numbers of their failures.

    The budget goes to one full example per cause of a list first, then to further cases, then to further
    failures of the same cases.
    """
    documents = []
    for kind, causes in lists:
        numbered = [
            (cause, [failures.add(failure, cause.implementation) for failure in cause.failures])
            for cause in causes
        ]
        rounds = [_order_by_case(cause.failures, numbers) for cause, numbers in numbered]
        for number in (number for turn in zip_longest(*rounds) for number in turn if number is not None):
            failures.add_details(number)
        documents += [_cause_to_json(kind, cause, numbers, failures) for cause, numbers in numbered]
    return [{"number": number, **document} for number, document in enumerate(documents, start=1)]


def _order_by_case(failures: Sequence[Failure], numbers: Sequence[int]) -> list[int]:
    """Return the numbers of a cause's failures: the first failure of every case before any second one."""
    seen: Counter[str] = Counter()
    turns = []
    for failure, number in zip(failures, numbers, strict=True):
        turns.append((seen[failure.first.case], number))
        seen[failure.first.case] += 1
    return [number for _, number in sorted(turns)]


def _cause_to_json(kind: str, cause: Cause, numbers: list[int], failures: FailureRows) -> dict[str, Any]:
    return {
        "kind": kind,
        "i": cause.implementation,
        "api": cause.api,
        "id": cause.id,
        "what": cause.title,
        "effect": cause.harm or "",
        "harm": describe_harm(cause),
        "cases": cause.cases,
        "failed": cause.failed,
        "warnings": cause.warnings,
        "also": describe_also(cause),
        "next": failures.format_explain_command(cause.failures[0].first),
        "f": numbers,
    }


def _skips_to_json(results: Results) -> list[list[Any]]:
    """Return [implementation, reason, trials] of the skipped trials, the most frequent reason first."""
    counts = Counter(
        (trial.implementation, trial.reason or "") for trial in _select_verdict(results, "skipped")
    )
    return [
        [implementation, escape_line(reason, 300), count]
        for (implementation, reason), count in counts.most_common(MAX_SKIP_REASONS)
    ]


def _trial_keys(changes: Iterable[history.Change]) -> frozenset[tuple[int, str]]:
    return frozenset((change.trial.implementation, change.trial.id) for change in changes)


def _history_to_json(changes: history.History) -> dict[str, Any]:
    """Return the count of each kind of change, and the trials of the kinds that are listed."""
    before = changes.before.header
    return {
        "counts": dict(changes.counts),
        "version": before.version,
        "names": list(name_implementations(before)),
        "rows": {kind: _list_changes(changes, kind) for kind in ("new", "fixed", "still", "gone")},
    }


def _list_changes(changes: history.History, kind: history.ChangeKind) -> list[list[Any]]:
    """Return one row per case: [implementation in the later run or null, case, title, deliveries]."""
    old_to_new = {old: new for new, old in changes.pairs.items()}
    rows: dict[tuple[float, str], list[Any]] = {}
    for change in changes.select(kind):
        trial = change.trial
        number = trial.implementation if change.after is not None else old_to_new.get(trial.implementation)
        key = (math.inf if number is None else number, trial.case)
        row = rows.setdefault(key, [number, trial.case, trial.title or "", []])
        row[3].append(trial.delivery or "")
    return list(rows.values())[:MAX_CHANGES]
