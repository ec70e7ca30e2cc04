"""`conform report`: any report of results that are there already."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Final, TextIO

import click

from streamconform import reports
from streamconform.cli import options
from streamconform.cli.placed import placed
from streamconform.errors import UsageError
from streamconform.reports import json
from streamconform.reports.matrix import Place
from streamconform.reports.terminal import Terminal
from streamconform.reports.words import cut
from streamconform.run.exits import Exit
from streamconform.run.merge import merge
from streamconform.run.reading import read
from streamconform.run.results import Results
from streamconform.suite.catalog import read_catalog

RESULTS: Final = ".conform/results.jsonl"
TERMINAL: Final = "terminal"
KINDS: Final = (*reports.REPORTS, reports.STREAMED)


@click.command("report")
@click.argument("report", metavar="KIND[=PATH]")
@click.argument("results", nargs=-1, metavar="[RESULTS]...")
@click.option("--exit-code", is_flag=True, help="Exit as the run did; 130 where it was killed.")
@options.baseline_option
@click.option("-v", "--verbose", count=True, help="With terminal: warnings too, and every case of a cause.")
@click.pass_context
def command(
    ctx: click.Context,
    report: str,
    results: tuple[str, ...],
    baseline: str | None,
    *,
    exit_code: bool,
    verbose: int,
) -> None:
    """Make a report of RESULTS, by default .conform/results.jsonl.

    \b
    conform report terminal                          what `conform run` printed
    conform report junit=build/conform.xml           for CI servers
    conform report markdown >> $GITHUB_STEP_SUMMARY  for a summary or a comment
    conform report github                            annotations of a workflow, on stdout
    conform report badge=badge.json                  for an endpoint badge of shields.io
    conform report matrix=matrix.md run-*.jsonl      implementations against capabilities, a page
    conform report html=r.html --baseline main.jsonl a page for people, and what changed since
    conform report json                              one document, without times
    conform report jsonl=all.jsonl shard-*.jsonl     shards as one results file

    Several RESULTS are shards of one run, or runs of several implementations: of one version and seed, and
    no trial twice. Results of a run that was killed are read up to the last trial that ended; the report
    and a line on stderr say so. Exit codes: 0 the report is made, 2 usage or results; --exit-code: the run's.
    """
    kind, _, path = report.partition("=")
    known = (TERMINAL, *KINDS, *reports.SUITED)
    if kind not in known or report.endswith("="):
        kinds = ", ".join(f"`{each}`" for each in known)
        raise UsageError(f"`{report}`: expected KIND or KIND=PATH, where KIND is {kinds}")
    merged = merge([(each, read(Path(each))) for each in results or (RESULTS,)])
    earlier = options.baseline(baseline, (kind,))
    if kind in reports.SUITED:
        reports.write(kind, path or "-", merged, _place(merged), earlier)
    elif kind != TERMINAL:
        render = json.lines if kind == reports.STREAMED else reports.renderer(kind)
        reports.write_text(path or "-", render(merged))
    elif path in ("", "-"):
        _print(merged, verbose)
    else:
        text = io.StringIO()
        _print(merged, verbose, text)
        reports.write_text(path, text.getvalue().rstrip("\n"))
    why = cut(merged)
    if why is not None:
        click.echo(f"warning: the results are cut: {why}", err=True)
    if exit_code:
        ctx.exit(Exit.INTERRUPTED if merged.footer is None else merged.footer.exit)


def _place(results: Results) -> Callable[[str], Place]:
    """Return what makes the place of a page; the suite is read when it is asked for."""

    def place(path: str) -> Place:
        where = options.sources(dict(results.header.selection))
        return placed(read_catalog(where), {trial.case for trial in results.trials})(path)

    return place


def _print(results: Results, verbose: int, stream: TextIO | None = None) -> None:
    strict = bool(results.header.selection.get("strict"))
    with Terminal(quiet=0, verbose=verbose, strict=strict, stream=stream) as terminal:
        terminal.begun(results.header)
        terminal.finished(results, None)
