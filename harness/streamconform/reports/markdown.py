"""Markdown for a GitHub step summary or a comment: a table, what is unexpected by cause, what is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from streamconform.model.result import Header, TrialResult
from streamconform.model.verdict import VERDICTS
from streamconform.reports.causes import Cause, Failure, causes, guards, reproduce
from streamconform.reports.words import briefly, called, counted, cut, printable, unexpected, warned
from streamconform.run.results import Results

MAX_BYTES: Final = 65_000
"""A comment holds 65,536 characters; a step summary, with 1 MiB, holds a comment."""
CASES_SHOWN: Final = 3
ROWS_SHOWN: Final = 50
LEFT_OUT: Final = "_The rest does not fit here; `conform report terminal` prints all of it._"


def render(results: Results) -> str:
    """Return the document, at most `MAX_BYTES` long; it says so where something is left out.

    Everything that came from outside is a code span or block: there is no markup in those, and no mention,
    reference or link.
    """
    failed = unexpected(results)
    return "\n\n".join(fitting(_blocks(results, failed), LEFT_OUT))


def _blocks(results: Results, failed: list[TrialResult]) -> Iterator[str]:
    trials = counted(len(results.trials), "trial")
    yield f"### streamconform {code(results.header.version)}: {len(failed)} unexpected of {trials}"
    why = cut(results)
    if why is not None:
        yield f"> **These results are cut**: {why}. What did not run is not judged."
    yield "\n".join(_table(results, failed))
    if failed:
        yield "#### Unexpected"
        yield from by_cause(failed, results.header)
    warnings = warned(results)
    if warnings:
        yield "#### Warnings: these differ, but the provider's words leave room"
        yield from by_cause(warnings, results.header)
    for verdict, title in (("known", "Known failures"), ("skipped", "Skipped")):
        chosen = [each for each in results.trials if each.verdict == verdict]
        if chosen:
            yield "\n".join((f"#### {title}", "", *_reasons(chosen)))
    problems = results.footer.problems if results.footer else ()
    if problems:
        yield "#### Known failures that are not true any more"
        yield "\n".join(f"- {code(str(each), 400)}" for each in problems[:ROWS_SHOWN])
    bugs = guards(failed)
    if bugs:
        shown = ", ".join(code(each) for each in bugs[:ROWS_SHOWN])
        more = f" and {len(bugs) - ROWS_SHOWN} more" if len(bugs) > ROWS_SHOWN else ""
        yield f"Real bugs that these cases guard against: {shown}{more}"


def _table(results: Results, failed: list[TrialResult]) -> Iterator[str]:
    counts = Counter((each.implementation, each.verdict) for each in results.trials)
    wrong = Counter(each.implementation for each in failed)
    yield f"| implementation | {' | '.join(VERDICTS)} | unexpected |"
    yield "|---|" + "--:|" * (len(VERDICTS) + 1)
    for at, name in enumerate(called(results.header)[:ROWS_SHOWN]):
        cells = " | ".join(str(counts[at, verdict]) for verdict in VERDICTS)
        yield f"| {cell(name)} | {cells} | {wrong[at]} |"


def by_cause(trials: Iterable[TrialResult], header: Header) -> Iterator[str]:
    """Yield a block a cause, the commonest first: what is cut off at the end is the rarest."""
    for number, cause in enumerate(sorted(causes(trials), key=lambda cause: -cause.trials), start=1):
        yield "\n".join(_cause(number, cause, header))


def _cause(number: int, cause: Cause, header: Header) -> Iterator[str]:
    cases = len({failure.first.case for failure in cause.failures})
    tally = f"{counted(cases, 'case')}, {counted(cause.trials, 'trial')}"
    fault = ", the adapter's fault" if cause.failures[0].first.culprit == "adapter" else ""
    of = f", {code(called(header)[cause.implementation])}" if len(header.implementations) > 1 else ""
    yield f"**{number}.** {code(cause.what, 200)}: {tally}{fault}{of}"
    yield ""
    for failure in cause.failures[:CASES_SHOWN]:
        yield f"- {code(failure.first.case, 200)}{_deliveries(failure)}"
    if len(cause.failures) > CASES_SHOWN:
        yield f"- … and {len(cause.failures) - CASES_SHOWN} more"
    yield ""
    first = cause.failures[0]
    yield from _fenced(_body(first, header))


def _body(failure: Failure, header: Header) -> Iterator[str]:
    first = failure.first
    if first.title:
        yield printable(first.title, 200)
    yield from briefly(first, failure.check)
    yield printable(reproduce(header.implementations[first.implementation], first, header), 1000)


def _deliveries(failure: Failure) -> str:
    shown = "".join(f", {code(each)}" for each in failure.deliveries[:8] if each)
    more = len(failure.deliveries) - 8
    return f"{shown} and {more} more" if more > 0 else shown


def _reasons(trials: list[TrialResult]) -> Iterator[str]:
    yield "| trials | why |"
    yield "|--:|---|"
    counts = Counter(each.known or each.reason or "" for each in trials)
    for why, count in counts.most_common(ROWS_SHOWN):
        yield f"| {count} | {cell(why or '-', 300)} |"
    if len(counts) > ROWS_SHOWN:
        yield f"| | {len(counts) - ROWS_SHOWN} more reasons |"


def code(text: str, width: int = 120) -> str:
    """Return `text` as a code span."""
    shown = printable(text, width)
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    pad = " " if len(fence) > 1 else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def cell(text: str, width: int = 120) -> str:
    """Return `text` as a code span in a table, where a bar ends the cell without a backslash before it."""
    return re.sub(r"(?<=\\)\|", r"\\x7c", code(text, width)).replace("|", r"\|")


def _fenced(lines: Iterable[str]) -> Iterator[str]:
    body = list(lines)
    longest = max((len(each) for line in body for each in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield from body
    yield fence


def fitting(blocks: Iterable[str], left_out: str) -> Iterator[str]:
    """Yield as many of `blocks`, with an empty line between, as `MAX_BYTES` hold, then `left_out`."""
    room = MAX_BYTES - len(left_out) - 2
    for block in blocks:
        room -= len(block.encode()) + 2
        if room < 0:
            yield left_out
            return
        yield block
