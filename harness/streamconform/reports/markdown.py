"""Markdown for a GitHub step summary or comment: a table, failures by cause, warnings, known failures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from streamconform.causes.raised import describe_error
from streamconform.model.result import Header, TrialResult
from streamconform.model.verdict import VERDICTS
from streamconform.printable import escape_line
from streamconform.reports.causes import (
    Cause,
    Failure,
    describe_also,
    describe_harm,
    describe_size,
    format_explain_command,
    format_run_command,
    list_causes,
    list_guarded_bugs,
)
from streamconform.reports.describe import (
    ADAPTER_WARNINGS_TITLE,
    CLAIMS_TITLE,
    FAILURES_TITLE,
    OUT_OF_DATE_TITLE,
    VERDICT_LABELS,
    WARNINGS_TITLE,
    describe_failure,
    name_implementations,
)
from streamconform.reports.summary import (
    describe_claims,
    describe_incomplete,
    describe_not_exposed,
    find_unexpected,
    format_headline,
    list_problems,
)
from streamconform.run.results import Results

MAX_BYTES: Final = 65_000
"""A GitHub comment can have up to 65,536 characters, and a step summary up to 1 MiB."""
MAX_CASES: Final = 3
MAX_ROWS: Final = 50
MAX_DELIVERIES: Final = 8
LEFT_OUT: Final = "_The rest is left out here; `conform report terminal` prints all of it._"


def render(results: Results) -> str:
    """Return the document, at most `MAX_BYTES` long; it says so if something is left out.

    All untrusted text is in code spans or blocks, where markup, mentions, references and links have no
    effect.
    """
    return "\n\n".join(limit_blocks(_blocks(results), LEFT_OUT))


def _blocks(results: Results) -> Iterator[str]:
    causes = list_causes(results)
    yield f"### streamconform {format_code(results.header.version)}: {format_headline(results, causes)}"
    reason = describe_incomplete(results)
    if reason is not None:
        yield f"> **These results are incomplete**: {reason}. Trials that did not run are not judged."
    claims = describe_claims(results)
    if claims:
        yield f"#### {CLAIMS_TITLE}"
        yield "\n".join(f"- {format_code(claim, 600)}" for claim in claims[:MAX_ROWS])
    yield "\n".join(_table(results, find_unexpected(results)))
    not_exposed = describe_not_exposed(results)
    if not_exposed:
        yield format_code(not_exposed, 1000)
    for title, listed in (
        (FAILURES_TITLE, causes.failed),
        (WARNINGS_TITLE, causes.warned),
        (ADAPTER_WARNINGS_TITLE, causes.adapter),
    ):
        if listed:
            yield f"#### {title}"
            yield from describe_causes(listed, results.header)
    for verdict, title in (("known", "Known failures (still failing)"), ("skipped", "Skipped")):
        trials = [trial for trial in results.trials if trial.verdict == verdict]
        if trials:
            yield "\n".join((f"#### {title}", "", *_reasons(trials)))
    problems = list_problems(results)
    if problems:
        yield f"#### {OUT_OF_DATE_TITLE}"
        yield "\n".join(f"- {format_code(str(problem), 400)}" for problem in problems[:MAX_ROWS])
    bugs = list_guarded_bugs(causes.failed)
    if bugs:
        shown = ", ".join(format_code(bug) for bug in bugs[:MAX_ROWS])
        more = f" and {len(bugs) - MAX_ROWS} more" if len(bugs) > MAX_ROWS else ""
        yield f"Real bugs that these cases guard against: {shown}{more}"


def _table(results: Results, failed: list[TrialResult]) -> Iterator[str]:
    verdicts = Counter((trial.implementation, trial.verdict) for trial in results.trials)
    # A known failure that passes is not a failed trial, as in the headline.
    failures = Counter(trial.implementation for trial in failed if trial.verdict != "stale")
    labels = " | ".join(VERDICT_LABELS[verdict] for verdict in VERDICTS)
    yield f"| implementation | {labels} | new failures |"
    yield "|---|" + "--:|" * (len(VERDICTS) + 1)
    for index, name in enumerate(name_implementations(results.header)[:MAX_ROWS]):
        cells = " | ".join(str(verdicts[index, verdict]) for verdict in VERDICTS)
        yield f"| {format_cell(name)} | {cells} | {failures[index]} |"


def describe_causes(causes: Iterable[Cause], header: Header) -> Iterator[str]:
    """Yield one block per cause, the worst harm first, so that only the least harmful are cut off."""
    for number, cause in enumerate(causes, start=1):
        yield "\n".join(_cause_lines(number, cause, header))


def _cause_lines(number: int, cause: Cause, header: Header) -> Iterator[str]:
    impl = ""
    if len(header.implementations) > 1:
        impl = f", {format_code(name_implementations(header)[cause.implementation])}"
    # Two spaces at the end are a line break in Markdown.
    yield f"**{number}.** {format_code(cause.title, 300)}: {describe_size(cause)}{impl}  "
    yield f"{describe_harm(cause)}"
    yield ""
    for failure in cause.failures[:MAX_CASES]:
        yield f"- {format_code(failure.first.case, 200)}{_format_deliveries(failure)}"
    if len(cause.failures) > MAX_CASES:
        yield f"- … and {len(cause.failures) - MAX_CASES} more"
    yield ""
    yield from _fence(_example_lines(cause, header))


def _example_lines(cause: Cause, header: Header) -> Iterator[str]:
    failure = cause.failures[0]
    first = failure.first
    if first.title:
        yield escape_line(first.title, 200)
    yield from describe_failure(first, failure.check)
    yield from describe_error(first)
    also = describe_also(cause)
    if also:
        yield also
    info = header.implementations[first.implementation]
    if "probe" not in header.selection:
        yield escape_line(format_explain_command(info, first, header), 1000)
    yield escape_line(format_run_command(info, first, header), 1000)


def _format_deliveries(failure: Failure) -> str:
    names = "".join(f", {format_code(name)}" for name in failure.deliveries[:MAX_DELIVERIES] if name)
    hidden = len(failure.deliveries) - MAX_DELIVERIES
    return f"{names} and {hidden} more" if hidden > 0 else names


def _reasons(trials: list[TrialResult]) -> Iterator[str]:
    yield "| trials | reason |"
    yield "|--:|---|"
    counts = Counter(trial.known or trial.reason or "" for trial in trials)
    for reason, count in counts.most_common(MAX_ROWS):
        yield f"| {count} | {format_cell(reason or '-', 300)} |"
    if len(counts) > MAX_ROWS:
        yield f"| | {len(counts) - MAX_ROWS} more reasons |"


def format_code(text: str, width: int = 120) -> str:
    """Return `text` as a code span."""
    line = escape_line(text, width)
    # CommonMark requires a longer run of backticks than any in the text.
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    padding = " " if len(fence) > 1 else ""
    return f"{fence}{padding}{line}{padding}{fence}"


def format_cell(text: str, width: int = 120) -> str:
    r"""Return `text` as a code span for a table cell, with `|` escaped.

    A `|` after a backslash becomes `\x7c`, because GitHub would read the pair as an escaped bar.
    """
    return re.sub(r"(?<=\\)\|", r"\\x7c", format_code(text, width)).replace("|", r"\|")


def _fence(lines: Iterable[str]) -> Iterator[str]:
    """Yield `lines` in a code block whose fence is longer than any run of backticks in them."""
    body = list(lines)
    longest = max((len(ticks) for line in body for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield from body
    yield fence


def limit_blocks(blocks: Iterable[str], left_out: str) -> Iterator[str]:
    """Yield as many of `blocks` as fit into `MAX_BYTES`, separated by empty lines, then `left_out`."""
    room = MAX_BYTES - len(left_out) - 2
    for block in blocks:
        # Only complete blocks: an incomplete table or an open code block would swallow the text after it.
        room -= len(block.encode()) + 2
        if room < 0:
            yield left_out
            return
        yield block
