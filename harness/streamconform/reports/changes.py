"""Show the comparison of two results files as text, as JSON, or as a pull request comment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.causes.raised import describe_error
from streamconform.model.result import Header, TrialResult
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.reports.causes import Cause, describe_harm, format_run_command, group_by_cause
from streamconform.reports.describe import describe_failure, name_implementations
from streamconform.reports.history import Change, ChangeKind, History
from streamconform.reports.markdown import describe_causes, format_cell, format_code, limit_blocks
from streamconform.reports.style import StyledLine
from streamconform.reports.summary import list_incomplete
from streamconform.run.results import Results, to_json

MAX_CASES: Final = 3
MAX_ROWS: Final = 50
MAX_DELIVERIES: Final = 8
LEFT_OUT: Final = "_The rest is left out here; `conform diff` prints all of it._"

NEW: Final = "New failures"
FIXED: Final = "Fixed"
STYLES: Final[Mapping[str, str]] = {NEW: "bold red", FIXED: "bold green"}
GROUPED: Final[tuple[tuple[ChangeKind, str], ...]] = (
    ("new", NEW),
    ("fixed", FIXED),
    ("still", "Still failing"),
)
"""Kinds of change that are grouped by cause, the most important first."""
LISTED: Final[tuple[tuple[ChangeKind, str], ...]] = (
    ("changed", "Verdict changed"),
    ("gone", "No longer in the results"),
)
"""Kinds of change that are listed by verdict and case."""
STALE_TITLE: Final = "Known failures that pass (remove from list)"
COLUMNS: Final[tuple[ChangeKind, ...]] = ("new", "fixed", "still", "stale", "changed", "gone")
SUMMARY_LABELS: Final[Mapping[ChangeKind, str]] = {
    "still": "still failing",
    "changed": "with a different verdict",
    "gone": "gone",
    "added": "added",
}
"""The text that the last line adds to the headline."""
SELECTION_KEYS: Final = frozenset(
    {"select", "api", "profile", "level", "deliver", "faults", "shard", "specs", "cassettes"}
)
"""Settings that select a run's trials: results that differ in them are not fully comparable."""


def format_headline(history: History) -> str:
    """Return `3 fixed, 1 new, 0 stale`."""
    counts = history.counts
    return ", ".join(f"{counts[kind]} {kind}" for kind in ("fixed", "new", "stale"))


def list_warnings(history: History, names: tuple[str, str]) -> Iterator[str]:
    """Yield the reasons why the two results are not fully comparable; `names` are the file names."""
    yield from list_incomplete(zip(names, (history.before, history.after), strict=True))
    before, after = history.before.header, history.after.header
    keys = sorted({*before.selection, *after.selection} & SELECTION_KEYS)
    for setting, old, new in (
        ("version", before.version, after.version),
        ("rules", before.rules, after.rules),
        ("seed", before.seed, after.seed),
        *((key, before.selection.get(key), after.selection.get(key)) for key in keys),
    ):
        if old != new:
            before_now = f"{_format_setting(old)} before, {_format_setting(new)} now"
            yield f"the two runs differ in {setting}: {before_now}"


def render_text(history: History, *, verbose: bool) -> Iterator[StyledLine]:
    """Yield the lines for a terminal; `verbose` lists every case."""
    for title, trials, results in _grouped_sections(history):
        style = f"{STYLES.get(title, 'bold')} underline"
        yield StyledLine(f"{title}: {format_count(len(trials), 'trial')}", style)
        for number, cause in enumerate(group_by_cause(trials), start=1):
            yield from _cause_lines(number, cause, results.header, verbose=verbose, only_names=title == FIXED)
        yield StyledLine("")
    for title, rows in _listed_sections(history):
        yield StyledLine(title, "bold underline")
        shown = rows if verbose else rows[:MAX_ROWS]
        yield from (StyledLine(f"   {escape_line(row, 300)}") for row in shown)
        if len(shown) < len(rows):
            yield StyledLine(f"   … and {len(rows) - len(shown)} more; `-v` lists them", "dim")
        yield StyledLine("")
    yield StyledLine(_format_summary(history), "bold red" if history.counts["new"] else "bold green")


def render_markdown(history: History, names: tuple[str, str]) -> str:
    """Return a comment of at most `MAX_BYTES`; untrusted text appears only in code spans and blocks."""
    return "\n\n".join(limit_blocks(_blocks(history, names), LEFT_OUT))


def render_json(history: History, names: tuple[str, str]) -> str:
    """Return one JSON document: both headers, counts, and every change; unchanged trials are only counted."""
    changes = [change for change in history.changes if change.kind not in ("same", "added")]
    document = {
        "before": to_json(history.before.header),
        "after": to_json(history.after.header),
        "warnings": [*list_warnings(history, names)],
        "counts": history.counts,
        "changes": [_change_to_json(change, history) for change in changes],
    }
    return json.dumps(document, indent=1)


def _grouped_sections(history: History) -> Iterator[tuple[str, list[TrialResult], Results]]:
    """Yield a title, its trials, and the results that contain their failures (the earlier ones if fixed)."""
    for kind, title in GROUPED:
        trials = [change.trial for change in history.select(kind)]
        if trials:
            yield title, trials, history.before if kind == "fixed" else history.after


def _listed_sections(history: History) -> Iterator[tuple[str, list[str]]]:
    stale = [change.trial for change in history.select("stale")]
    if stale:
        rows = [f"{trial.id}: {trial.known or ''}".rstrip(": ") for trial in stale]
        yield f"{STALE_TITLE}: {format_count(len(stale), 'trial')}", rows
    for kind, title in LISTED:
        rows = [f"{count} {move}" for move, count in _count_moves(history.select(kind))]
        if rows:
            yield f"{title}: {format_count(history.counts[kind], 'trial')}", rows


def _count_moves(changes: Sequence[Change]) -> list[tuple[str, int]]:
    """Return `pass to skipped: CASE` with the number of trials, the most frequent first."""
    counts = Counter(f"{_format_move(change)}: {change.trial.case}" for change in changes)
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def _format_move(change: Change) -> str:
    return " to ".join(trial.verdict for trial in (change.before, change.after) if trial is not None)


def _cause_lines(
    number: int, cause: Cause, header: Header, *, verbose: bool, only_names: bool
) -> Iterator[StyledLine]:
    info = header.implementations[cause.implementation]
    impl = f"  [{info.impl}]" if len(header.implementations) > 1 else ""
    tally = f"{format_count(cause.cases, 'case')}, {format_count(cause.trials, 'trial')}{impl}"
    yield StyledLine(f"{number}. {cause.title}  {escape_line(tally, 300)}", "bold")
    if not only_names:
        yield StyledLine(f"   {describe_harm(cause)}")
    shown = cause.failures if verbose else cause.failures[:MAX_CASES]
    for failure in shown:
        more = ", …" if len(failure.deliveries) > MAX_DELIVERIES else ""
        deliveries = ", ".join(failure.deliveries[:MAX_DELIVERIES]) + more
        yield StyledLine(f"   {failure.first.case}  {deliveries}".rstrip())
        if only_names:
            continue
        lines = (*describe_failure(failure.first, failure.check), *describe_error(failure.first))
        yield from (StyledLine(f"      {line}") for line in lines)
        command = format_run_command(info, failure.first, header)
        yield StyledLine(f"      reproduce: {escape_line(command, 1000)}", "dim")
    if len(shown) < len(cause.failures):
        yield StyledLine(f"   … and {len(cause.failures) - len(shown)} more; `-v` lists them", "dim")


def _format_summary(history: History) -> str:
    counts = history.counts
    more = [f"{counts[kind]} {label}" for kind, label in SUMMARY_LABELS.items() if counts[kind]]
    return ", ".join((format_headline(history), *more))


def _blocks(history: History, names: tuple[str, str]) -> Iterator[str]:
    yield f"### streamconform: {format_headline(history)}"
    for warning in list_warnings(history, names):
        yield f"> {format_code(warning, 400)}"
    yield "\n".join(_table(history))
    for title, trials, results in _grouped_sections(history):
        yield f"#### {title}"
        if title == NEW:
            yield from describe_causes(group_by_cause(trials), results.header)
        else:  # A comment is about new failures, so other changes are listed without details.
            rows = (_format_row(cause, results.header) for cause in group_by_cause(trials))
            yield "\n".join(("| trials | cause | cases |", "|--:|---|---|", *rows))
    for title, lines in _listed_sections(history):
        more = [f"- … and {len(lines) - MAX_ROWS} more"] if len(lines) > MAX_ROWS else []
        items = (f"- {format_code(line, 300)}" for line in lines[:MAX_ROWS])
        yield "\n".join((f"#### {title}", "", *items, *more))


def _table(history: History) -> Iterator[str]:
    """Yield the table of implementations and kinds of change; removed implementations share a row."""
    yield f"| implementation | {' | '.join(COLUMNS)} |"
    yield "|---|" + "--:|" * len(COLUMNS)
    names = name_implementations(history.after.header)
    rows = [(name, Counter[ChangeKind]()) for name in names]
    old_to_new = {old: new for new, old in history.pairs.items()}
    unpaired = Counter[ChangeKind]()
    for change in history.changes:
        index = -1
        if change.after is not None:
            index = change.after.implementation
        elif change.before is not None:
            index = old_to_new.get(change.before.implementation, -1)
        (rows[index][1] if index >= 0 else unpaired)[change.kind] += 1
    if unpaired:
        rows.append(("no longer judged", unpaired))
    for name, counts in rows[:MAX_ROWS]:
        yield f"| {format_cell(name)} | {' | '.join(str(counts[kind]) for kind in COLUMNS)} |"


def _format_row(cause: Cause, header: Header) -> str:
    cases = list(dict.fromkeys(failure.first.case for failure in cause.failures))
    more = f" and {len(cases) - MAX_CASES} more" if len(cases) > MAX_CASES else ""
    impl = ""
    if len(header.implementations) > 1:
        impl = f" {format_cell(name_implementations(header)[cause.implementation])}"
    shown = ", ".join(format_cell(case, 200) for case in cases[:MAX_CASES])
    return f"| {cause.trials} | {format_cell(cause.title, 300)}{impl} | {shown}{more} |"


def _change_to_json(change: Change, history: History) -> dict[str, Any]:
    results = history.after if change.after is not None else history.before
    trial = change.after or change.before
    assert trial is not None, "a change has at least one trial"
    info = results.header.implementations[trial.implementation]
    return {
        "kind": change.kind,
        "implementation": info.impl,
        "id": trial.id,
        "before": change.before and change.before.verdict,
        "after": change.after and change.after.verdict,
        "reason": trial.reason,
        "checks": [to_json(check) for check in change.trial.checks],
    }


def _format_setting(value: Any) -> str:
    return "none" if value in (None, (), []) else escape_line(json.dumps(value), 100)
