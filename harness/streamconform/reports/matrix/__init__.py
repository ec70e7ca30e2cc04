"""The matrix of implementations and capabilities: one Markdown page for people who are choosing a library.

The summary comes first, then a table per API, then the failures of each implementation. All untrusted text is
in code spans, or is a link target in a form that is known to be safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from streamconform.apis import APIS
from streamconform.model.result import Header
from streamconform.plural import format_count
from streamconform.reports.describe import name_implementations
from streamconform.reports.markdown import format_cell, format_code
from streamconform.reports.matrix.context import PageContext, make_slug
from streamconform.reports.matrix.score import (
    COLUMNS,
    FRAMING,
    TRUNCATION,
    MatrixRow,
    Score,
    add_scores,
    score_rows,
)
from streamconform.reports.matrix.section import ListLimits, render_section
from streamconform.reports.summary import describe_incomplete
from streamconform.run.results import Results
from streamconform.suite.build import COMMON

__all__ = ["MAX_BYTES", "PageContext", "render"]

MAX_BYTES: Final = 400_000
"""GitHub renders a Markdown page of up to 512 kB."""
LIMITS: Final = (
    ListLimits(60, 25),
    ListLimits(40, 15),
    ListLimits(30, 10),
    ListLimits(20, 5),
    ListLimits(10, 2),
    ListLimits(3, 1),
)
"""Limits to try, in order, until the page is short enough."""
LEFT_OUT: Final = "_The rest is left out here; `conform report terminal` prints all of it._"
LEGEND: Final = """\
A cell is **passed/judged**, counted in cases; it links to the failures, if there are any. `-` means that the
implementation does not claim the capability; an empty cell means that there is no such case. *warn* counts
cases that pass with a warning: the provider's documentation does not settle the difference. *skipped* counts
cases that need a capability which is not claimed.

A case is judged by its delivery `as-is`. If it passes, `framing` also counts it once for all its other
deliveries (in one piece, byte by byte, with comments, with unknown fields), and `truncation` once for its
stream cut off, reset, or ended by an error. Known failures count as failures here."""


def render(results: Results, context: PageContext) -> str:
    """Return the page, at most `MAX_BYTES` long; it says so if something is left out."""
    rows = score_rows(results, context.suite)
    text = ""
    for limits in LIMITS:
        text = "\n\n".join(_blocks(results, context, rows, limits))
        if len(text.encode()) <= MAX_BYTES:
            return text
    # The cut may split a character, which is dropped, and a block, which is left out as a whole.
    start = text.encode()[: MAX_BYTES - len(LEFT_OUT) - 2].decode("utf-8", "ignore")
    return "\n\n".join((start.rpartition("\n\n")[0], LEFT_OUT))


def _blocks(
    results: Results, context: PageContext, rows: Sequence[MatrixRow], limits: ListLimits
) -> Iterator[str]:
    header = results.header
    anchors = _make_anchors(header)
    yield "# Matrix: which implementations read streamed answers correctly"
    date = f", on {format_code(header.date)}" if header.date else ""
    yield f"{_count_rows(rows)}, judged by streamconform {format_code(header.version)}{date}."
    reason = describe_incomplete(results)
    if reason is not None:
        yield f"> **These results are incomplete**: {reason}. Trials that did not run are not judged."
    unknown = {trial.case for trial in results.trials} - set(context.suite)
    if unknown:
        verb = "is" if len(unknown) == 1 else "are"
        yield (
            f"> {format_count(len(unknown), 'case')} {verb} not in this version of the suite, and therefore"
            " not in any capability's column."
        )
    yield LEGEND
    yield "## Summary"
    yield "\n".join(_summary_lines(header, rows, anchors))
    for api in _list_apis(rows):
        # A name that is not an API of the suite is untrusted text from the results file.
        yield f"## {format_code(api)}" if api not in (*APIS, COMMON) else f"## {api}"
        yield "\n".join(_table_lines(header, [row for row in rows if row.api == api], anchors))
    for index, anchor in enumerate(anchors):
        own_rows = [row for row in rows if row.implementation == index]
        if own_rows:
            yield from render_section(header, own_rows, context, anchor, limits)


def _count_rows(rows: Sequence[MatrixRow]) -> str:
    implementations = len({row.implementation for row in rows})
    apis = len({row.api for row in rows if row.api != COMMON})
    return f"{format_count(implementations, 'implementation')} of {format_count(apis, 'API')}"


def _list_apis(rows: Iterable[MatrixRow]) -> list[str]:
    """Return the APIs of `rows` in the suite's order, followed by those unknown to this version."""
    apis = {row.api for row in rows}
    return [*(api for api in (*APIS, COMMON) if api in apis), *sorted(apis - {*APIS, COMMON})]


def _summary_lines(header: Header, rows: Sequence[MatrixRow], anchors: Sequence[str]) -> Iterator[str]:
    """Yield the table of implementations and APIs; its last two columns are the ones that need no tag."""
    apis = _list_apis(rows)
    untagged = [name for name in (FRAMING, TRUNCATION) if any(name in row.columns for row in rows)]
    yield f"| implementation | {' | '.join([format_cell(api) for api in apis] + untagged)} |"
    yield "|---|" + "--:|" * (len(apis) + len(untagged))
    for index, name in enumerate(_link_implementations(header, anchors)):
        rows_by_api = {row.api: row for row in rows if row.implementation == index}
        if not rows_by_api:
            continue
        cells = [
            _format_score(rows_by_api[api].cases, f"{anchors[index]}-{make_slug(api)}")
            if api in rows_by_api
            else ""
            for api in apis
        ]
        for column in untagged:
            scores = [row.columns[column] for row in rows_by_api.values() if column in row.columns]
            cells.append(_format_score(add_scores(scores), anchors[index]))
        yield f"| {name} | {' | '.join(cells)} |"


def _table_lines(header: Header, rows: Sequence[MatrixRow], anchors: Sequence[str]) -> Iterator[str]:
    """Yield one API's table."""
    columns = [name for name in COLUMNS if any(name in row.columns for row in rows)]
    yield f"| implementation | cases | {' | '.join(COLUMNS[name] for name in columns)} |"
    yield "|---|" + "--:|" * (len(columns) + 1)
    names = _link_implementations(header, anchors)
    for row in rows:
        anchor = f"{anchors[row.implementation]}-{make_slug(row.api)}"
        scores = [row.cases, *(row.columns.get(name, Score()) for name in columns)]
        cells = " | ".join(_format_score(score, anchor) for score in scores)
        yield f"| {names[row.implementation]} | {cells} |"


def _format_score(score: Score, anchor: str) -> str:
    if not score.judged:
        return "-" if score.skipped else ""
    ratio = f"{score.passed}/{score.judged}"
    notes = [f"{n} {label}" for n, label in ((score.warned, "warn"), (score.skipped, "skipped")) if n]
    note = f"<br><sub>{', '.join(notes)}</sub>" if notes else ""
    return (f"[{ratio}](#{anchor})" if score.failed else ratio) + note


def _link_implementations(header: Header, anchors: Sequence[str]) -> list[str]:
    """Return a cell for each implementation: a link to its section, and the release."""
    return [
        f"[{format_cell(name)}](#{anchor}){f' {format_cell(info.version, 40)}' if info.version else ''}"
        for name, anchor, info in zip(
            name_implementations(header), anchors, header.implementations, strict=True
        )
    ]


def _make_anchors(header: Header) -> tuple[str, ...]:
    """Return a unique anchor for each implementation's section; `of-` avoids clashes with API anchors."""
    anchors: list[str] = []
    for number, name in enumerate(name_implementations(header)):
        anchor = f"of-{make_slug(name)}"
        anchors.append(f"{anchor}-{number}" if anchor in anchors else anchor)
    return tuple(anchors)
