"""Summarize a run: its headline, the trials that failed or only warned, and whether it is complete. Pure.

The terminal's last line, the HTML headline, the Markdown title, the GitHub notice and the badge all come from
here, so that they cannot disagree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from streamconform.causes.difference_kinds import generalize_path
from streamconform.conservation import Balance
from streamconform.errors import Problem
from streamconform.judge.unknown_keys import suggest_key
from streamconform.model.result import TrialResult, UncomparedClaim, is_unexpected
from streamconform.plural import format_count
from streamconform.printable import collapse_variables, escape_line
from streamconform.reports.causes import CauseLists, list_causes
from streamconform.run.results import Results

STOP_REASON: Final = "stop.reason"
MAX_NOT_EXPOSED: Final = 8
"""The maximum number of unexposed paths listed; the rest are counted."""
MAX_UNKNOWN_KEYS: Final = 12
"""The maximum number of unknown keys listed with a suggestion; the rest are counted."""


class Summary(Struct, frozen=True):
    """The counts of a run."""

    trials: int
    failed: int
    """New failures, adapter errors, timeouts and, under `--strict`, warnings."""
    adapter_errors: int
    timeouts: int
    """Like `adapter_errors`, this count is part of `failed`."""
    passed: int
    known: int
    warnings: int
    """Warnings that do not fail the run."""
    fixed: int
    """Trials that pass although a known-failures entry lists them."""
    skipped: int
    problems: int
    """Known-failures entries that are out of date."""
    claims: int
    """Claims that were never compared."""

    @property
    def judged(self) -> int:
        """Return the number of trials that were not skipped."""
        return self.trials - self.skipped


def summarize(results: Results) -> Summary:
    """Return the counts of `results`."""
    # A known failure that passes is not a failed trial; its entry is out of date, which is counted
    # separately.
    failed = [trial for trial in find_unexpected(results) if trial.verdict != "stale"]
    failed_verdicts = Counter(trial.verdict for trial in failed)
    verdicts = Counter(trial.verdict for trial in results.trials)
    return Summary(
        trials=len(results.trials),
        failed=len(failed),
        adapter_errors=failed_verdicts["faulted"],
        timeouts=failed_verdicts["hang"],
        passed=verdicts["pass"],
        known=verdicts["known"],
        warnings=verdicts["warn"] - failed_verdicts["warn"],
        fixed=verdicts["stale"],
        skipped=verdicts["skipped"],
        problems=len(list_problems(results)),
        claims=0 if results.footer is None else len(results.footer.claims),
    )


def format_headline(results: Results, causes: CauseLists) -> str:
    """Return the result of the run in one line; `causes` are those in `results`.

    `No new failures: 377 passed, 136 known failures, 40 warnings` or
    `Failed: 2 causes, in 10 of 2,298 trials (12,359 skipped)`.
    """
    summary = summarize(results)
    if not summary.trials:
        return "Nothing ran"
    if is_inconsistent(results):
        counts = [f"{summary.passed:,} passed", *_count(summary.failed, "failure"), *_count_rest(summary)]
        return f"The results do not add up: {', '.join(counts)}, {_describe_lost(results)}"
    if summary.failed:
        counts = [
            *_count(summary.adapter_errors, "adapter error"),
            *([f"{summary.timeouts:,} timed out"] if summary.timeouts else []),
            *_count_rest(summary),
        ]
        details = f" ({', '.join(counts)})" if counts else ""
        problems = "".join(f"; {text}" for text in _count_other_failures(summary))
        trials = format_count(summary.judged, "trial")
        failed = format_count(len(causes.failed), "cause")
        return f"Failed: {failed}, in {summary.failed:,} of {trials}{details}{problems}"
    if not summary.judged:
        return f"No trial was judged: {format_count(summary.skipped, 'trial')} skipped"
    title = "No new failures" if summary.known or summary.fixed or summary.problems else "No failures"
    counts = [f"{summary.passed:,} passed", *_count_rest(summary)]
    others = " and ".join(_count_other_failures(summary))
    but = f", but {others}" if others else ""
    return f"{title}{but}: {', '.join(counts)}"


def format_badge(results: Results) -> str:
    """Return the headline without its title, short enough for a badge."""
    summary = summarize(results)
    if describe_incomplete(results) is not None:
        return f"incomplete: {summary.trials:,} of {format_count(results.header.trials, 'trial')}"
    if not summary.judged:
        return "nothing ran"
    if summary.failed:
        return f"failed: {format_count(len(list_causes(results).failed), 'cause')}"
    counts = [
        f"{summary.passed:,} passed",
        *_count(summary.known, "known failure"),
        *_count(summary.warnings, "warning"),
        *_count_other_failures(summary),
    ]
    return ", ".join(counts)


def describe_incomplete(results: Results) -> str | None:
    """Return why the results are incomplete (interrupted run, missing trials), or None if they are not."""
    progress = f"{len(results.trials):,} of {format_count(results.header.trials, 'trial')} ended"
    if results.footer is None:
        return f"the run was killed: {progress}"
    if is_inconsistent(results):
        return f"the results do not add up: {_describe_lost(results)}"
    if not results.footer.complete:
        because = f": {escape_line(results.footer.stopped, 400)}" if results.footer.stopped else ""
        return f"the run was stopped early: {progress}{because}"
    return None


def list_incomplete(runs: Iterable[tuple[str, Results]]) -> Iterator[str]:
    """Yield a line for each incomplete run of `runs`, which are pairs of a file name and its results."""
    for name, results in runs:
        reason = describe_incomplete(results)
        if reason is not None:
            yield f"the results in {escape_line(name, 200)} are incomplete: {reason}"


def is_inconsistent(results: Results) -> bool:
    """Return whether trials are missing or repeated although the run ended by itself.

    Every planned trial of such a run is judged, skipped, or a named reason why it did not run.
    """
    footer = results.footer
    if footer is None:
        return False
    distinct = {(trial.implementation, trial.id) for trial in results.trials}
    ended = ({"ended": len(distinct)}, {"ended": len(results.trials)}, footer.counts)
    balances = (Balance("trial", "planned", results.header.trials, counts) for counts in ended)
    return bool(footer.lost) or (footer.complete and any(balance.find_error() for balance in balances))


def describe_skipped(results: Results) -> list[str]:
    """Return one line per reason, most trials first: `2 trials skipped: tool_calls is not claimed`."""
    reasons = [trial.reason or "no reason" for trial in results.trials if trial.verdict == "skipped"]
    # A client may refuse each of a hundred models in the same words.
    counts = Counter(map(collapse_variables, reasons))
    examples = dict(zip(map(collapse_variables, reversed(reasons)), reversed(reasons), strict=True))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [
        f"{format_count(count, 'trial')} skipped: {escape_line(examples[key], 300)}" for key, count in ordered
    ]


def describe_warnings(results: Results) -> str | None:
    """Return `12 warnings: failures with --strict`, or None if there are none."""
    count = summarize(results).warnings
    return f"{format_count(count, 'warning')}: failures with --strict" if count else None


def describe_borrowed_parser(results: Results) -> list[str]:
    """Return a note per implementation that imported the bundled parser, except the parser itself.

    It is no verdict: an adapter may import it for something else than reading the streams.
    """
    imported = () if results.footer is None else results.footer.imported_reference
    infos = (info.impl for info, flag in zip(results.header.implementations, imported, strict=False) if flag)
    return [
        f"note: `{escape_line(impl, 200)}` imported the bundled reference parser"
        for impl in infos
        if impl != "reference" and not impl.startswith("mutant:")
    ]


def _describe_lost(results: Results) -> str:
    """Return `590 of 1,489 trials have no result`, with the ids that the footer names."""
    distinct = {(trial.implementation, trial.id) for trial in results.trials}
    missing = results.header.trials - len(distinct)
    what = f"{missing:,} of {format_count(results.header.trials, 'trial')} have no result"
    if missing <= 0:
        what = f"{format_count(results.header.trials, 'trial')} planned, {len(results.trials):,} results"
    lost = () if results.footer is None else results.footer.lost
    named = f", such as {escape_line(lost[0], 200)}" if lost else ""
    return f"{what}{named}; this is a bug in streamconform, or an adapter interfered with the run"


def find_unexpected(results: Results) -> list[TrialResult]:
    """Return the trials that make the run exit with 1; under `--strict`, these include warnings."""
    strict = bool(results.header.selection.get("strict"))
    return [trial for trial in results.trials if is_unexpected(trial, strict=strict)]


def find_warnings(results: Results) -> list[TrialResult]:
    """Return the trials with a warning that does not fail the run."""
    strict = bool(results.header.selection.get("strict"))
    return [trial for trial in results.trials if trial.verdict == "warn" and not strict]


def needs_attention(results: Results) -> bool:
    """Return whether a run without new failures is not green: known failures, warnings, or trials not run."""
    summary = summarize(results)
    return bool(summary.known or summary.warnings) or describe_incomplete(results) is not None


def describe_not_exposed(results: Results) -> str | None:
    """Return `Not exposed: model, response_id (24 cases)`, or None if the libraries expose every value."""
    cases: set[tuple[int, str]] = set()
    paths: Counter[str] = Counter()
    for trial in results.trials:
        names = {generalize_path(path) for path in trial.not_exposed} - {STOP_REASON}
        paths.update(names)
        if names:
            cases.add((trial.implementation, trial.case))
    if not paths:
        return None
    ordered = [
        escape_line(path, 80) for path, _ in sorted(paths.items(), key=lambda item: (-item[1], item[0]))
    ]
    more = f" and {len(ordered) - MAX_NOT_EXPOSED} more" if len(ordered) > MAX_NOT_EXPOSED else ""
    return f"Not exposed: {', '.join(ordered[:MAX_NOT_EXPOSED])}{more} ({format_count(len(cases), 'case')})"


def describe_unnoticed(results: Results) -> str | None:
    """Return in how many cases nothing says why an answer ended early, or None if there are none."""
    trials = (trial for trial in results.trials if STOP_REASON in trial.not_exposed)
    cases = {(trial.implementation, trial.case) for trial in trials}
    if not cases:
        return None
    count = format_count(len(cases), "case")
    return f"`stop` is not claimed: a limit, a filter or a pause cannot be noticed ({count})"


def describe_unknown_keys(results: Results) -> list[str]:
    """Return one line per unknown key that is close to a known one, then the number of the others."""
    counts = Counter(path for trial in results.trials for path in trial.unknown_keys)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    suggestions = ((path, count, suggest_key(path)) for path, count in ordered)
    lines = [
        f"`{escape_line(path, 80)}`: unknown key{suggestion} ({format_count(count, 'trial')})"
        for path, count, suggestion in suggestions
        if suggestion
    ][:MAX_UNKNOWN_KEYS]
    others = len(counts) - len(lines)
    if others and lines:
        return [*lines, f"and {format_count(others, 'other unknown key')}"]
    return [*lines, format_count(others, "unknown key")] if others else lines


def describe_claims(results: Results) -> list[str]:
    """Return one line per claim that fails the run, because no trial compared a value of it."""
    claims = () if results.footer is None else results.footer.claims
    return [_describe_claim(claim, results) for claim in claims]


def _describe_claim(claim: UncomparedClaim, results: Results) -> str:
    impl = escape_line(results.header.implementations[claim.implementation].impl, 200)
    trials = f"none of the {claim.trials:,} trials that expect one compared a value"
    if claim.trials == 1:
        trials = "the only trial that expects one compared no value"
    return (
        f"`{impl}` claims `{escape_line(claim.capability, 80)}`, but {trials}; report it, or leave it out of"
        " `capabilities`"
    )


def list_problems(results: Results) -> tuple[Problem, ...]:
    """Return the known-failures entries that are out of date, each with its file and line."""
    return () if results.footer is None else results.footer.problems


def _count(number: int, noun: str) -> list[str]:
    return [format_count(number, noun)] if number else []


def _count_rest(summary: Summary) -> list[str]:
    """Return the counts that a headline includes only if they are not zero."""
    # The entry of a fixed trial is among the problems, unless the run was stopped before they were collected.
    fixed = 0 if summary.problems else summary.fixed
    return [
        *_count(summary.known, "known failure"),
        *_count(summary.warnings, "warning"),
        *([f"{fixed:,} fixed (remove from list)"] if fixed else []),
        *([f"{summary.skipped:,} skipped"] if summary.skipped else []),
    ]


def _count_other_failures(summary: Summary) -> list[str]:
    """Return the counts of what fails the run although it is no trial."""
    claims = "claim was" if summary.claims == 1 else "claims were"
    entries = "entry is" if summary.problems == 1 else "entries are"
    return [
        *([f"{summary.claims:,} {claims} never compared"] if summary.claims else []),
        *([f"{summary.problems:,} known-failures {entries} out of date"] if summary.problems else []),
    ]
