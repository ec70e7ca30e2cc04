"""The scores of one implementation as JSON, for pages about many implementations. Pure.

A run's results contain one line per trial. This document contains only one word per case, and the causes of
the failures; it is small enough to commit, and diffs between versions are readable.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from streamconform.causes.raised import describe_error
from streamconform.errors import UsageError
from streamconform.model.result import TrialResult
from streamconform.model.trial import AS_IS, is_fault
from streamconform.reports.causes import Cause, group_by_cause
from streamconform.reports.describe import describe_failure
from streamconform.reports.matrix.context import PageContext
from streamconform.reports.matrix.score import (
    FRAMING,
    TRUNCATION,
    MatrixRow,
    Score,
    find_columns,
    mark_trials,
    score_rows,
)
from streamconform.run.results import Results

CaseMark = Literal["pass", "warn", "fail", "framing", "truncation", "skipped"]
"""Whether a case fails in `as-is`, only in other deliveries (`framing`), or only when truncated."""
MAX_EXAMPLE: Final = 400
"""The maximum length of a cause's example."""


def render(results: Results, context: PageContext) -> str:
    """Return a document that matches `scores.v1`. Raises `UsageError` for results of several runs."""
    header = results.header
    if len(header.implementations) != 1:
        raise UsageError(
            "the report `scores` covers one implementation, but these results have"
            f" {len(header.implementations)}: make one report for each"
        )
    info = header.implementations[0]
    rows = score_rows(results, context.suite)
    document = {
        "scores": 1,
        "implementation": {
            "impl": info.impl,
            "name": info.name,
            "version": info.version,
            "language": info.language,
            "issues": info.issues,
            "input": info.input,
        },
        "date": header.date,
        "suite": {"version": header.version, "digest": header.digest},
        "apis": {row.api: _render_row(row, results, context) for row in rows},
    }
    return _format(document)


def _render_row(row: MatrixRow, results: Results, context: PageContext) -> dict[str, Any]:
    strict = bool(results.header.selection.get("strict"))
    own = [trial for trial in results.trials if trial.case.partition("/")[0] == row.api]
    trials_by_case: dict[str, list[TrialResult]] = {}
    for trial in own:
        trials_by_case.setdefault(trial.case, []).append(trial)
    marks = {case: mark_case(trials, strict=strict) for case, trials in sorted(trials_by_case.items())}
    return {
        "cases": _render_score(row.cases),
        "columns": {name: _render_score(score) for name, score in row.columns.items()},
        "not_exposed": _count_not_exposed(own),
        "failures": [_render_cause(cause, row, context) for cause in group_by_cause(row.failing)],
        "warnings": [_render_cause(cause, row, context) for cause in group_by_cause(row.warned)],
        "marks": _group_marks(marks),
    }


def mark_case(trials: Sequence[TrialResult], *, strict: bool) -> CaseMark:
    """Return a case's mark, which depends on all its trials."""
    # Function calls have no delivery, and a profile may omit `as-is`; then all trials count.
    as_is = [trial for trial in trials if trial.delivery == AS_IS] or list(trials)
    mark = mark_trials(as_is, strict=strict)
    if mark in ("fail", "skipped"):
        return mark
    failing = [trial for trial in trials if mark_trials([trial], strict=strict) == "fail"]
    if not failing:
        return mark
    return TRUNCATION if all(is_fault(trial.delivery) for trial in failing) else FRAMING


def _render_score(score: Score) -> dict[str, int]:
    counts = {
        "passed": score.passed,
        "failed": score.failed,
        "warned": score.warned,
        "skipped": score.skipped,
    }
    return {name: count for name, count in counts.items() if count}


def _count_not_exposed(trials: Iterable[TrialResult]) -> dict[str, int]:
    """Return, for each path, the number of cases in which the library does not expose it."""
    pairs = {(path, trial.case) for trial in trials for path in trial.not_exposed}
    return dict(sorted(Counter(path for path, _ in pairs).items()))


def _render_cause(cause: Cause, row: MatrixRow, context: PageContext) -> dict[str, Any]:
    deliveries: dict[str, list[str]] = {}
    trials = [*row.failing, *row.warned]
    for failure in cause.failures:
        deliveries.setdefault(failure.first.case, []).extend(failure.deliveries)
    ids = {f"{case}@{name}" if name else case for case, names in deliveries.items() for name in names}
    own = [trial for trial in trials if trial.id in ids]
    # Prefer an example in `as-is`, which is easy to reproduce.
    first = min(cause.failures, key=lambda failure: AS_IS not in failure.deliveries)
    example = [*describe_failure(first.first, first.check)[:3], *describe_error(first.first)]
    return {
        "title": cause.title,
        "harm": cause.harm,
        "culprit": cause.culprit,
        "columns": find_columns(deliveries, row, context.suite),
        "trials": cause.trials,
        "tracked": sorted({issue for trial in own for issue in trial.tracked}),
        "example": {
            "trial": first.first.id,
            "text": "; ".join(line.strip() for line in example)[:MAX_EXAMPLE],
        },
        "cases": {case: " ".join(dict.fromkeys(names)) for case, names in sorted(deliveries.items())},
    }


def _group_marks(marks: Mapping[str, CaseMark]) -> dict[str, dict[str, str]]:
    """Return the case names in each group, by mark."""
    groups: dict[str, dict[str, list[str]]] = {}
    for case, mark in marks.items():
        group, _, name = case.rpartition("/")
        groups.setdefault(group, {}).setdefault(mark, []).append(name)
    return {
        group: {mark: " ".join(names) for mark, names in by_mark.items()} for group, by_mark in groups.items()
    }


def _format(document: object) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False)
