"""The matrix's section about one implementation: how it was run, and what fails, by cause. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from streamconform.apis import APIS
from streamconform.causes.raised import describe_error
from streamconform.model.result import Header, TrialResult
from streamconform.model.trial import AS_IS, is_fault
from streamconform.plural import format_count
from streamconform.reports.causes import Cause, Failure, describe_harm, group_by_cause
from streamconform.reports.describe import WARNINGS_TITLE, describe_failure, name_implementations
from streamconform.reports.markdown import format_code
from streamconform.reports.matrix.context import SAFE_URL, PageContext, link_issue, make_slug
from streamconform.reports.matrix.score import COLUMNS, MatrixRow, find_columns
from streamconform.suite.build import COMMON

MAX_REASONS: Final = 3
MAX_DELIVERIES: Final = 3


@dataclass(frozen=True, slots=True)
class ListLimits:
    """The maximum lengths of a section's lists."""

    causes: int
    """Causes per API."""
    cases: int
    """Cases per cause."""


def render_section(
    header: Header, rows: Sequence[MatrixRow], context: PageContext, anchor: str, limits: ListLimits
) -> Iterator[str]:
    """Yield the blocks about one implementation; `rows` are its rows, at least one."""
    index = rows[0].implementation
    info = header.implementations[index]
    yield f'<a id="{anchor}"></a>'
    yield f"## {format_code(name_implementations(header)[index])}"
    facts = [
        *([f"release {format_code(info.version)}"] if info.version else []),
        *([f"written in {format_code(info.language)}"] if info.language else []),
        f"input {format_code(info.input)}, as {format_code(f'--impl {info.impl}')}",
        *([f"used through {context.access[info.impl]}"] if info.impl in context.access else []),
    ]
    if info.issues:
        is_link = SAFE_URL.fullmatch(info.issues)
        facts.append(f"[issues]({info.issues})" if is_link else format_code(info.issues))
    yield "; ".join(facts) + "."
    has_known_failures = bool(header.selection.get("known_failures"))
    for row in rows:
        api = row.api if row.api in (*APIS, COMMON) else format_code(row.api)
        yield f'<a id="{anchor}-{make_slug(row.api)}"></a>'
        yield f"**{api}**: {_count_failures(row)}"
        if row.failing:
            yield from _render_causes(
                row, row.failing, context, limits, has_known_failures=has_known_failures
            )
        if row.warned:
            yield f"{WARNINGS_TITLE}."
            yield from _render_causes(row, row.warned, context, limits, has_known_failures=False)


def _count_failures(row: MatrixRow) -> str:
    """Return how many cases were judged, how many fail in `as-is`, and how many fail only elsewhere."""
    as_is = {trial.case for trial in row.failing if trial.delivery in (AS_IS, None)}
    with_faults = {trial.case for trial in row.failing if is_fault(trial.delivery)}
    other_deliveries = {trial.case for trial in row.failing} - as_is - with_faults
    counts = [
        f"{len(cases)} {label}"
        for cases, label in (
            (as_is, "as is"),
            (other_deliveries, "only in other deliveries of the same stream"),
            (with_faults - as_is - other_deliveries, "only when the stream is broken"),
        )
        if cases
    ]
    judged = format_count(row.cases.judged, "case")
    return f"{judged}; failing: {', '.join(counts)}." if counts else f"{judged}; no failures."


def _render_causes(
    row: MatrixRow,
    trials: Sequence[TrialResult],
    context: PageContext,
    limits: ListLimits,
    *,
    has_known_failures: bool,
) -> Iterator[str]:
    causes = group_by_cause(trials)
    cases = len({trial.case for trial in trials})
    yield f"<details><summary>{format_count(len(causes), 'cause')}, {format_count(cases, 'case')}</summary>"
    for cause in causes[: limits.causes]:
        lines = _cause_lines(cause, row, trials, context, limits, has_known_failures=has_known_failures)
        yield "\n".join(lines)
    if len(causes) > limits.causes:
        yield f"_{format_count(len(causes) - limits.causes, 'more cause')} left out here._"
    yield "</details>"


def _cause_lines(
    cause: Cause,
    row: MatrixRow,
    trials: Sequence[TrialResult],
    context: PageContext,
    limits: ListLimits,
    *,
    has_known_failures: bool,
) -> Iterator[str]:
    deliveries_by_case: dict[str, list[str]] = {}
    for failure in cause.failures:
        deliveries_by_case.setdefault(failure.first.case, []).extend(failure.deliveries)
    tally = f"{format_count(len(deliveries_by_case), 'case')}, {format_count(cause.trials, 'trial')}"
    columns = ", ".join(COLUMNS[name] for name in find_columns(deliveries_by_case, row, context.suite))
    title = f"{format_code(cause.title, 300)}{f' ({columns})' if columns else ''}"
    yield f"- {title}, {describe_harm(cause)}: {tally}; {_format_example(cause.failures[0])}"
    ids = {f"{case}@{name}" if name else case for case, names in deliveries_by_case.items() for name in names}
    own_trials = [trial for trial in trials if trial.id in ids]
    yield from _reason_lines(own_trials, has_known_failures=has_known_failures)
    # Cases that fail in `as-is` come first, because they are easy to reproduce.
    ordered = sorted(deliveries_by_case.items(), key=lambda item: AS_IS not in item[1])
    for case, names in ordered[: limits.cases]:
        yield f"  - {context.link_case(case)}{_format_deliveries(names)}"
    if len(ordered) > limits.cases:
        yield f"  - … and {len(ordered) - limits.cases} more"


def _format_example(failure: Failure) -> str:
    """Return the failure's first lines as one code span, without the check's path."""
    lines = (*describe_failure(failure.first, failure.check)[:3], *describe_error(failure.first))
    return format_code("; ".join(line.strip() for line in lines), 360)


def _reason_lines(trials: Sequence[TrialResult], *, has_known_failures: bool) -> Iterator[str]:
    """Yield the reasons of known failures with their issues, the most frequent first."""
    counts = Counter((trial.known or "", trial.tracked) for trial in trials)
    for (reason, issues), count in counts.most_common(MAX_REASONS):
        if reason:
            links = ", ".join(link_issue(issue) for issue in issues[:MAX_REASONS])
            yield f"  - known: {format_code(reason, 300)} {links}"
        elif has_known_failures:
            yield f"  - **new failure**: {format_count(count, 'trial')}"
    if len(counts) > MAX_REASONS:
        yield f"  - {len(counts) - MAX_REASONS} more reasons"


def _format_deliveries(names: Sequence[str]) -> str:
    text = ", ".join(format_code(name, 60) for name in names[:MAX_DELIVERIES] if name)
    hidden = len(names) - MAX_DELIVERIES
    return f" ({text} and {hidden} more)" if hidden > 0 else f" ({text})" if text else ""
