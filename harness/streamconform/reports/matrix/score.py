"""Score the cases in each column of the matrix. Pure.

The unit is the case. The result of its `as-is` delivery counts in the column of each of its tags. If `as-is`
passes, the case's other deliveries count under `framing`, and its faults under `truncation`; a case that
fails anyway reveals nothing about these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from streamconform.model.capability import Capability
from streamconform.model.case import AnyCase
from streamconform.model.result import ImplementationInfo, TrialResult
from streamconform.model.trial import AS_IS, is_fault
from streamconform.run.results import Results

COLUMNS: Final[Mapping[str, str]] = {
    "text": "text",
    "tool_calls": "tool calls",
    "parallel": "parallel",
    "thinking": "thinking",
    "usage": "usage",
    "cost": "cost",
    "errors": "errors",
    "stop": "stop",
    "tolerance": "tolerance",
    "framing": "framing",
    "truncation": "truncation",
    "heal": "heal",
    "partial": "partial",
    "assemble": "assemble",
}
"""Column titles by tag, in order; a column without any case is left out of an API's table."""
NEEDED: Final[Mapping[str, Capability]] = {
    "tool_calls": "tool_calls",
    "parallel": "parallel_tool_calls",
    "thinking": "thinking",
    "usage": "usage",
    "cost": "cost",
    "errors": "errors",
    "heal": "heal",
    "partial": "partial_json",
    "assemble": "assemble",
}
"""The capability of a column; if it is not claimed, the column shows `-`."""
FRAMING: Final = "framing"
TRUNCATION: Final = "truncation"
Mark = Literal["pass", "warn", "fail", "skipped"]
"""The combined result of one or more trials."""


@dataclass(frozen=True, slots=True)
class Score:
    """The case counts in a cell."""

    passed: int = 0
    """The number of passing cases, including those with a warning."""
    failed: int = 0
    warned: int = 0
    skipped: int = 0

    @property
    def judged(self) -> int:
        """Return the number of cases that were not skipped."""
        return self.passed + self.failed


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """An implementation and one of the APIs that it reads."""

    implementation: int
    api: str
    cases: Score
    """All cases, delivered as they are."""
    columns: Mapping[str, Score]
    failing: tuple[TrialResult, ...]
    """All failing trials, in any delivery or fault."""
    warned: tuple[TrialResult, ...] = ()
    """All trials that pass with a warning."""


def score_rows(results: Results, suite: Mapping[str, AnyCase]) -> tuple[MatrixRow, ...]:
    """Return a row for each implementation and API with at least one judged trial.

    `suite` contains the cases, with their tags, by id; a case that is not in it counts only in the columns
    that need no tag. Under `--strict`, a warning is a failure.
    """
    strict = bool(results.header.selection.get("strict"))
    groups: dict[tuple[int, str], dict[str, list[TrialResult]]] = {}
    for trial in results.trials:
        key = trial.implementation, trial.case.partition("/")[0]
        groups.setdefault(key, {}).setdefault(trial.case, []).append(trial)
    return tuple(
        _blank_unclaimed(
            _make_row(index, api, cases, suite, strict=strict), results.header.implementations[index]
        )
        for (index, api), cases in groups.items()
        if any(trial.verdict != "skipped" for trials in cases.values() for trial in trials)
    )


def mark_trials(trials: Sequence[TrialResult], *, strict: bool) -> Mark:
    """Return the combined result of `trials`; known failures count as failures, stale ones as passes."""
    verdicts = {trial.verdict for trial in trials}
    if verdicts & {"fail", "hang", "faulted", "known"} or (strict and "warn" in verdicts):
        return "fail"
    if "warn" in verdicts:
        return "warn"
    return "pass" if verdicts & {"pass", "stale"} else "skipped"


def count_marks(marks: Iterable[Mark]) -> Score:
    """Return the counts of `marks`."""
    counts = Counter(marks)
    return Score(counts["pass"] + counts["warn"], counts["fail"], counts["warn"], counts["skipped"])


def add_scores(scores: Iterable[Score]) -> Score:
    """Return the sum of `scores`."""
    rows = [(score.passed, score.failed, score.warned, score.skipped) for score in scores]
    return Score(*map(sum, zip(*rows, strict=True)))


def find_columns(
    failed: Mapping[str, Sequence[str]], row: MatrixRow, suite: Mapping[str, AnyCase]
) -> list[str]:
    """Return the columns of `row` that count the cases in `failed` (failing deliveries by case id)."""
    columns: set[str] = set()
    failed_as_is = {trial.case for trial in row.failing if trial.delivery in (AS_IS, None)}
    for id_, names in failed.items():
        if id_ not in failed_as_is:
            columns |= {TRUNCATION if is_fault(name) else FRAMING for name in names}
        elif id_ in suite:
            columns |= suite[id_].tags
    return [name for name in COLUMNS if name in columns and row.columns.get(name, Score()).judged]


def _make_row(
    implementation: int,
    api: str,
    cases: Mapping[str, Sequence[TrialResult]],
    suite: Mapping[str, AnyCase],
    *,
    strict: bool,
) -> MatrixRow:
    marks: list[Mark] = []
    columns: dict[str, list[Mark]] = {}
    for id_, trials in cases.items():
        mark, others = _mark_case(trials, strict=strict)
        marks.append(mark)
        tags = suite[id_].tags if id_ in suite else ()
        for column, part_mark in (*((tag, mark) for tag in tags if tag in COLUMNS), *others.items()):
            columns.setdefault(column, []).append(part_mark)
    every = [(trial, mark_trials([trial], strict=strict)) for trials in cases.values() for trial in trials]
    return MatrixRow(
        implementation,
        api,
        count_marks(marks),
        {name: count_marks(columns[name]) for name in COLUMNS if name in columns},
        tuple(trial for trial, mark in every if mark == "fail"),
        tuple(trial for trial, mark in every if mark == "warn"),
    )


def _mark_case(trials: Sequence[TrialResult], *, strict: bool) -> tuple[Mark, dict[str, Mark]]:
    """Return the result of a case as recorded and, if that passes, those of its deliveries and its faults."""
    # A case without bytes has no recorded delivery, and a profile may omit that delivery; in both cases all
    # trials count.
    main = [trial for trial in trials if trial.delivery == AS_IS] or trials
    mark = mark_trials(main, strict=strict)
    others: dict[str, list[TrialResult]] = {}
    if main is not trials and mark in ("pass", "warn"):
        for trial in trials:
            if trial.delivery != AS_IS:
                others.setdefault(TRUNCATION if is_fault(trial.delivery) else FRAMING, []).append(trial)
    return mark, {
        column: _drop_repeated_warning(mark, mark_trials(part, strict=strict))
        for column, part in others.items()
    }


def _blank_unclaimed(row: MatrixRow, info: ImplementationInfo) -> MatrixRow:
    """Return `row` with every case counted as skipped in columns whose capability is not claimed."""
    if info.claims is None:
        return row
    claims = info.claims.get(row.api, ())
    columns = dict(row.columns)
    for name, score in row.columns.items():
        if name in NEEDED and NEEDED[name] not in claims:
            columns[name] = Score(skipped=score.judged + score.skipped)
    return replace(row, columns=columns)


def _drop_repeated_warning(recorded: Mark, other: Mark) -> Mark:
    """Return the mark of the other deliveries, ignoring warnings that also occur in the recorded delivery."""
    return "pass" if recorded == other == "warn" else other
