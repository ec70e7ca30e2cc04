"""`conform report`: make any report from existing results."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from streamconform import reports
from streamconform.adapters.forms import load_forms
from streamconform.cli import options
from streamconform.errors import UsageError
from streamconform.reports.summary import describe_incomplete, is_inconsistent, list_incomplete
from streamconform.reports.terminal import Terminal
from streamconform.run.exits import Exit
from streamconform.run.merge import merge
from streamconform.run.reading import read
from streamconform.run.results import Results
from streamconform.run.run_folders import get_latest_results, resolve_results
from streamconform.suggestions import suggest
from streamconform.suite.catalog import Catalog, read_catalog
from streamconform.suite.selection import SelectionSettings, find_sources, select

if TYPE_CHECKING:
    from streamconform.reports.matrix import PageContext

TERMINAL: Final = "terminal"
KINDS: Final = (*reports.REPORTS, reports.STREAMED)
"""The kinds of report that need only the results."""


@click.command("report")
@click.argument("report", metavar="[KIND[=PATH]]", default=TERMINAL)
@click.argument("results", nargs=-1, metavar="[RESULTS]...")
@click.option("--exit-code", is_flag=True, help="Exit with the run's exit code; 130 if the run was killed.")
@options.baseline_option
@click.option(
    "--judge",
    "answers",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Judge the answers that `conform run --answers FILE` saved, by the rules and specs of this version.",
)
@click.option(
    "-v",
    "--verbose",
    count=True,
    help="For the terminal report: also show warnings, and list every case for each cause.",
)
@options.durations_option
@click.pass_context
def command(
    ctx: click.Context,
    report: str,
    results: tuple[str, ...],
    baseline: str | None,
    answers: Path | None,
    *,
    exit_code: bool,
    durations: int | None,
    verbose: int,
) -> None:
    """Make a report from RESULTS: results files or run folders, by default the latest run.

    \b
    conform report terminal                          what `conform run` printed
    conform report junit=build/conform.xml           for CI servers
    conform report markdown >> $GITHUB_STEP_SUMMARY  for a summary or a comment
    conform report github                            workflow annotations, on stdout
    conform report badge=badge.json                  for a shields.io endpoint badge
    conform report matrix=matrix.md run-*.jsonl      implementations against capabilities, one page
    conform report scores=openai.json run.jsonl      one implementation's scores, small enough to commit
    conform report html=r.html --baseline main.jsonl a page for people, with the changes since the baseline
    conform report json                              one document, without times
    conform report jsonl=all.jsonl shard-*.jsonl     merge shards into one results file
    conform report --judge answers.jsonl.gz          judge saved answers again

    Several RESULTS must be shards of one run, or runs of several implementations, with the same version and
    seed and no trials in common. If a run was killed, its results are read up to the last finished trial; the
    report and a warning on stderr say so. Exit codes: 0 report made, 2 usage error or unreadable results,
    4 if trials are missing although the run ended by itself; with --exit-code, the run's exit code.
    """
    kind, path = _parse_kind(report)
    if answers is not None and results:
        raise UsageError("`--judge` reads saved answers; leave out the results files")
    runs = _read_runs(results) if answers is None else []
    merged = merge(runs) if answers is None else _judge_answers(answers)
    baseline_results = options.read_baseline(baseline, (kind,))
    if kind == TERMINAL:
        _print_results(merged, verbose, durations, path)
    elif kind in KINDS:
        reports.write_text(path or "-", reports.render(kind, merged))
    else:
        reports.write_report(kind, path or "-", merged, _load_page_context(merged), baseline_results)
    _print_warnings(merged, runs)
    # A file may be inconsistent although the merged results are merely incomplete, as another file is.
    if any(map(is_inconsistent, (merged, *(run for _, run in runs)))):
        ctx.exit(Exit.BUG)
    if exit_code:
        ctx.exit(Exit.INTERRUPTED if merged.footer is None else merged.footer.exit)


def _parse_kind(report: str) -> tuple[str, str]:
    """Return the kind of report and its path, which is empty for stdout."""
    kind, _, path = report.partition("=")
    kinds = (TERMINAL, *KINDS, *reports.SUITE_REPORTS)
    if kind not in kinds or report.endswith("="):
        known = ", ".join(f"`{name}`" for name in kinds)
        raise UsageError(
            f"`{report}`: expected KIND or KIND=PATH, where KIND is one of {known}{suggest(kind, kinds)}"
        )
    return kind, path


def _read_runs(names: Sequence[str]) -> list[tuple[str, Results]]:
    paths = [resolve_results(name) for name in names] or [get_latest_results()]
    return [(str(path), read(path)) for path in paths]


def _print_warnings(merged: Results, runs: Sequence[tuple[str, Results]]) -> None:
    """Print which of several files are incomplete, and that the merged results are."""
    for line in list_incomplete(runs) if len(runs) > 1 else ():
        click.echo(f"warning: {line}", err=True)
    reason = describe_incomplete(merged)
    if reason is not None:
        click.echo(f"warning: the results are incomplete: {reason}", err=True)


def _judge_answers(path: Path) -> Results:
    """Judge the answers in `path`, with the selection and the known-failures files of their run."""
    # Only here, because other reports need neither the suite nor the judge.
    from streamconform.adapters.connect import Connection
    from streamconform.known_failures.reading import (
        KnownFailuresSettings,
        make_unmatched_finder,
        read_known_failures,
    )
    from streamconform.run.answers import read_answers
    from streamconform.run.plan import Settings
    from streamconform.run.session import RunRequest, judge_saved

    saved = read_answers(path)
    header = saved.header
    settings = replace(SelectionSettings.from_values(header.selection), seed=header.seed)
    strict = bool(header.selection.get("strict"))
    is_part = bool(header.selection.get("last_failed"))
    # The trials that had failed before that run are not known any more, but their answers are here.
    ids = frozenset(one.id for one in saved) if is_part else None
    selection = select(settings, ids)
    impls = [info.impl for info in header.implementations]
    known_failures = KnownFailuresSettings(
        tuple(header.selection.get("known_failures") or ()), settings, strict=strict, last_failed=is_part
    )
    files = read_known_failures(known_failures, impls, make_unmatched_finder(selection, header.seed))
    request = RunRequest(
        connections=tuple(Connection(impl, ()) for impl in impls),
        trials=selection.trials,
        settings=Settings(
            workers=1,
            timeout=0.0,
            seed=header.seed,
            strict=strict,
            input=settings.input,
        ),
        selection=header.selection,
        known_failures=tuple(file.listed for file in files),
        digest=selection.compute_digest(),
    )
    return judge_saved(request, saved).results


def make_page_contexts(catalog: Catalog, case_ids: Collection[str]) -> Callable[[str], PageContext]:
    """Return a function that creates the context for a page at a given path; `-` means the current folder.

    Only the cases in `case_ids` are loaded, and only when the function is called. A page links to specs only
    if the page is inside the folder that contains the specs folder.
    """
    root = catalog.sources.specs.resolve().parent

    def make_page_context(path: str) -> PageContext:
        from streamconform.reports.matrix import PageContext  # only the matrix needs it

        folder = Path.cwd() if path == "-" else Path(path).resolve().parent
        cases = {case.id: case for case in catalog.load(frozenset(case_ids))}
        access = {
            f"{word}:{name}": functions
            for word, form in load_forms().items()
            for name, functions in form.list_names().items()
        }
        return PageContext(cases, str(folder), str(root), access)

    return make_page_context


def write_reports(
    targets: Sequence[tuple[str, str]],
    results: Results,
    page_context: Callable[[str], PageContext],
    baseline: Results | None = None,
) -> None:
    """Write the reports that are not written during the run, each even if one before it raises."""
    with ExitStack() as reversed_steps:
        for kind, target in reversed(targets):
            if kind != reports.STREAMED:
                reversed_steps.callback(reports.write_report, kind, target, results, page_context, baseline)


def _load_page_context(results: Results) -> Callable[[str], PageContext]:
    """Return a function that creates a page's context from the run's own suite, reading it when called."""

    def make_page_context(path: str) -> PageContext:
        sources = find_sources(SelectionSettings.from_values(results.header.selection))
        case_ids = {trial.case for trial in results.trials}
        return make_page_contexts(read_catalog(sources), case_ids)(path)

    return make_page_context


def _print_results(results: Results, verbose: int, durations: int | None, path: str) -> None:
    """Print what `conform run` prints, or write it to `path` if that is neither empty nor `-`."""
    stream = None if path in ("", "-") else io.StringIO()
    strict = bool(results.header.selection.get("strict"))
    with Terminal(quiet=0, verbose=verbose, strict=strict, durations=durations, stream=stream) as terminal:
        terminal.start(results.header)
        terminal.finish(results, None)
    if stream is not None:
        reports.write_text(path, stream.getvalue().rstrip("\n"))
