"""The scores of one implementation as JSON, for pages about many implementations. Pure.

A run's results contain one line per trial. This document contains counts, what is skipped, and the causes of
the failures and warnings; it is small enough to commit, and diffs between versions are readable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, get_args

from streamconform.causes.raised import describe_error
from streamconform.errors import UsageError
from streamconform.model.result import TrialResult
from streamconform.model.trial import AS_IS
from streamconform.reports.causes import Cause, group_by_cause
from streamconform.reports.describe import describe_failure
from streamconform.reports.matrix.context import PageContext
from streamconform.reports.matrix.score import MatrixRow, score_rows
from streamconform.reports.scores.document import (
    ALL,
    CASES,
    ApiScores,
    Count,
    Example,
    Failure,
    Implementation,
    Scores,
    Suite,
    Warned,
    format_scores,
    split_id,
)
from streamconform.run.results import Results

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
    return format_scores(
        Scores(
            scores=1,
            implementation=Implementation(
                info.impl, info.name, info.version, info.language, info.issues, info.input
            ),
            date=header.date,
            suite=Suite(header.version, header.digest),
            apis={row.api: _score_api(row, results) for row in score_rows(results, context.suite)},
        )
    )


def _score_api(row: MatrixRow, results: Results) -> ApiScores:
    trials: dict[str, list[TrialResult]] = {}
    for trial in sorted(results.trials, key=lambda each: each.case):
        if trial.case.partition("/")[0] == row.api:
            trials.setdefault(trial.case, []).append(trial)
    return ApiScores(
        counts=dict(_count_cases(row)),
        topics=dict(Counter(split_id(case)[1] for case in trials)),
        skipped=dict(_list_skipped(trials)),
        not_exposed=_count_not_exposed(trial for of_case in trials.values() for trial in of_case),
        failures=tuple(_describe_failure(cause, row) for cause in group_by_cause(row.failing)),
        warnings=tuple(_describe_warning(cause) for cause in group_by_cause(row.warned)),
    )


def _count_cases(row: MatrixRow) -> Iterator[tuple[Count, dict[str, int]]]:
    scores = {CASES: row.cases, **row.columns}
    for name in get_args(Count):
        counts = {column: getattr(score, name) for column, score in scores.items()}
        yield name, {column: count for column, count in counts.items() if count}


def _list_skipped(trials: Mapping[str, Sequence[TrialResult]]) -> Iterator[tuple[str, str]]:
    """Yield each topic with skipped cases, and their names; `trials` are those of each case."""
    topics: dict[str, dict[str, bool]] = {}
    for case, of_case in trials.items():
        # Function calls have no delivery, and a profile may omit `as-is`; then all trials count.
        as_is = [trial for trial in of_case if trial.delivery == AS_IS] or of_case
        _, topic, name = split_id(case)
        topics.setdefault(topic, {})[name] = all(trial.verdict == "skipped" for trial in as_is)
    for topic, cases in topics.items():
        if any(cases.values()):
            names = " ".join(name for name, is_skipped in cases.items() if is_skipped)
            yield topic, ALL if all(cases.values()) else names


def _count_not_exposed(trials: Iterable[TrialResult]) -> dict[str, int]:
    """Return, for each path, the number of cases in which the library does not expose it."""
    pairs = {(path, trial.case) for trial in trials for path in trial.not_exposed}
    return dict(sorted(Counter(path for path, _ in pairs).items()))


def _describe_failure(cause: Cause, row: MatrixRow) -> Failure:
    deliveries = _list_deliveries(cause)
    ids = {f"{case}@{name}" if name else case for case, names in deliveries.items() for name in names}
    topics: dict[str, dict[str, list[str]]] = {}
    for case, names in deliveries.items():
        _, topic, case_name = split_id(case)
        topics.setdefault(topic, {}).setdefault(" ".join(names), []).append(case_name)
    return Failure(
        title=cause.title,
        harm=cause.harm,
        trials=cause.trials,
        tracked=tuple(sorted({issue for trial in row.failing if trial.id in ids for issue in trial.tracked})),
        example=_choose_example(cause),
        cases={
            topic: {names: " ".join(cases) for names, cases in by_deliveries.items()}
            for topic, by_deliveries in topics.items()
        },
    )


def _describe_warning(cause: Cause) -> Warned:
    deliveries = _list_deliveries(cause)
    as_is = (case.partition("/")[2] for case, names in deliveries.items() if {AS_IS, ""} & {*names})
    return Warned(cause.title, len(deliveries), _choose_example(cause), " ".join(as_is))


def _list_deliveries(cause: Cause) -> dict[str, tuple[str, ...]]:
    """Return the deliveries with a cause by case, sorted; that of a function call is an empty name."""
    deliveries: dict[str, list[str]] = {}
    for failure in cause.failures:
        deliveries.setdefault(failure.first.case, []).extend(failure.deliveries)
    return {case: tuple(dict.fromkeys(names)) for case, names in sorted(deliveries.items())}


def _choose_example(cause: Cause) -> Example:
    # Prefer an example in `as-is`, which is easy to reproduce.
    first = min(cause.failures, key=lambda failure: AS_IS not in failure.deliveries)
    lines = [*describe_failure(first.first, first.check)[:3], *describe_error(first.first)]
    return Example(first.first.id, "; ".join(line.strip() for line in lines)[:MAX_EXAMPLE])
