"""`conform run`: judge implementations; the exit code says whether there are new failures."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import click

from streamconform import reports
from streamconform.adapters.connect import BROKEN, Connection
from streamconform.cli import commands, completion, options
from streamconform.cli.declared import apply_declaration
from streamconform.cli.known_failures import (
    check_update_options,
    known_failures_options,
    update_known_failures,
)
from streamconform.cli.not_run import describe_not_run
from streamconform.cli.plant import answer_plant, apply_plant, is_answered, locate_load_error
from streamconform.cli.profile_summary import describe_rest
from streamconform.cli.progress import ProgressLines
from streamconform.cli.recordings import fetch_recordings
from streamconform.cli.report import make_page_contexts, write_reports
from streamconform.cli.resume import add_interrupted, apply_interrupted, find_interrupted
from streamconform.cli.server import add_proxy_headers, hide_header_values
from streamconform.config import ProjectSettings, read_settings
from streamconform.errors import ReportError, UsageError
from streamconform.known_failures.reading import (
    KnownFailuresFile,
    KnownFailuresSettings,
    make_unmatched_finder,
    read_known_failures,
)
from streamconform.model.case import Case
from streamconform.model.result import Header, TrialResult
from streamconform.plural import format_count
from streamconform.reports.declared import describe_declared
from streamconform.reports.style import StyledLine, print_lines
from streamconform.reports.terminal import Terminal
from streamconform.run.budget import Budget
from streamconform.run.exits import Exit
from streamconform.run.plan import Settings
from streamconform.run.reading import read
from streamconform.run.results import Results
from streamconform.run.run_folders import RunFolder, create_run_folder, is_in_run_folder, lock_run
from streamconform.run.session import FinishedRun, Progress, RunRequest, execute_run
from streamconform.run.workers import count_default_workers
from streamconform.suite.order import read_order
from streamconform.suite.pulled import NOT_PULLED
from streamconform.suite.selection import Selection, find_corpus

RECORDED_SETTINGS: Final = (
    "select",
    "api",
    "profile",
    "recorded",
    "level",
    "deliver",
    "faults",
    "input",
    "shard",
    "last_failed",
    "known_failures",
    "strict",
    "specs",
    "cassettes",
)
"""The settings to store in the results header: how trials are selected and judged."""


SECTIONS: Final = {
    "What to judge": ("impl", "plant", "input", "headers", "key_env"),
    "Which trials": (
        "select",
        "api",
        "profile",
        "level",
        "deliver",
        "faults",
        "recorded",
        "pull",
        "last_failed",
        "shard",
        "seed",
        "specs",
        "cassettes",
    ),
    "How to run": ("workers", "timeout", "start_timeout", "budget", "resume", "exitfirst", "maxfail"),
    "What counts as a failure": ("strict", "known_failures", "declared", "update"),
    "Output": ("report", "answers", "baseline", "durations", "quiet", "verbose"),
}
"""The sections of `--help`, with the names of their options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of the command that only a run has, by the names that click passes.

    The others can also be set in the config, and are part of `ProjectSettings`.
    """

    plant: str | None
    headers: tuple[str, ...]
    key_env: str | None
    select: tuple[str, ...]
    last_failed: bool
    declared: bool
    update: bool
    resume: bool
    budget: float | None
    exitfirst: bool
    maxfail: int | None
    baseline: str | None
    answers: Path | None
    pull: bool
    durations: int | None
    quiet: int
    verbose: int

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> RunOptions:
        """Return the options in `values`, which has those of the config too."""
        return cls(**{field.name: values[field.name] for field in fields(cls)})


@click.command("run", cls=commands.SectionedCommand, sections=SECTIONS)
@click.option(
    "-i",
    "--impl",
    shell_complete=completion.complete_impls,
    multiple=True,
    metavar="IMPL",
    help='Implementation to judge: reference, a package, python:MODULE:NAME, "cmd:PROGRAM ARGS", peer:NAME '
    "(`conform peers list`), proxy:URL (docs/judging-proxies.md), mutant:NAME, "
    "plant:FILE. Repeatable.",
)
@click.option(
    "--plant",
    metavar="FILE",
    help="Which cases catch the bug in this Python file, and what is the smallest stream that does? "
    "(docs/plant.md) Exit codes: 0 caught, 1 not caught, 3 the file itself is at fault.",
)
@options.input_option
@options.proxy_options
@options.selection_options
@options.last_failed_option
@options.sources_options
@known_failures_options
@click.option(
    "--declared",
    is_flag=True,
    help="Run what the known-failures file declares: its profile, APIs and capabilities. Fails if the "
    "results are worse or better (docs/declared.md).",
)
@click.option(
    "-n",
    "--workers",
    type=click.IntRange(min=1),
    help="Number of parallel workers. [default: one per core, at most 4]",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Timeout per trial, in seconds. [default: 10]",
)
@options.start_timeout_option
@click.option(
    "--strict/--no-strict",
    default=None,
    help="Treat warnings (level should) as failures; always on for mutants.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue the last run, which was interrupted: the same selection, only trials without a result.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Start no trial later than this many seconds after the first one. The trials that find the most "
    "bugs run first; --resume runs the rest.",
)
@options.failure_limit_options
@click.option(
    "--report",
    multiple=True,
    metavar="KIND=PATH",
    help=f"Also write a report: {', '.join((*reports.REPORTS, *reports.SUITE_REPORTS))} or jsonl; a PATH "
    "of - means stdout. Repeatable. Results are written to .conform/runs/TIME/results.jsonl and, with "
    "jsonl=PATH, also to PATH.",
)
@options.baseline_option
@click.option(
    "--answers",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also save every answer to FILE (compressed if it ends in .gz): `conform report --judge FILE` "
    "judges them again, without the implementation.",
)
@click.option(
    "--pull",
    is_flag=True,
    help="With --recorded: fetch the recordings with pip. [default: ask on a terminal, else skip them]",
)
@options.durations_option
@click.option("-q", "--quiet", count=True, help="Print only the last line; with -qq, nothing.")
@click.option("-v", "--verbose", count=True, help="Print every cause and all its cases.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Judge implementations against the recorded streams.

    \b
    conform run -i mypkg --profile core           a first run: the most serious bugs, in less than a minute
    conform run -i mypkg                          the full suite; entry point, else mypkg.conform:adapter
    conform run                                   the bundled reference parser
    conform run -i python:mypkg.mod:name          a callable
    conform run -i "cmd:node adapter.mjs"         a program that speaks JSON lines
    conform run -- ./my-parser --flag             the same
    conform run -k 'anthropic-messages/tool-use/**' --deliver fast
    conform run --known-failures known.yaml       listed failures do not fail the run
    conform run -i mypkg --input http             your real client, against a local replay server
    conform run --report html=r.html              a page with every difference and its bytes
    conform run --last-failed                     only trials that failed in the last run
    conform run -i mypkg --budget 60              a minute of trials: first those that find the most bugs
    conform run --plant bug.py                    would a case catch my bug?
    conform run --declared --report badge=b.json  is what the project declares true?
    conform run --resume                          the rest of a run that was interrupted or out of time

    Without --impl or a config file, the bundled reference is judged. Exit codes: 0 no new failures, 1 new
    failures, 2 usage or input error, 3 implementation unusable, 4 bug in streamconform, 5 nothing ran,
    130 interrupted.
    """
    with ExitStack() as stack:
        ctx.exit(_run(apply_plant(arguments), stack))


def _run(arguments: dict[str, Any], stack: ExitStack) -> Exit:
    """Run the command and return its exit code; `stack` closes the run's folder."""
    started = time.perf_counter()
    settings = read_settings(arguments)
    chosen = RunOptions.from_values(arguments)
    interrupted, earlier = _find_earlier(settings, chosen, stack)
    given = arguments
    if interrupted is not None and earlier is not None:
        resumed = apply_interrupted(interrupted, earlier, settings, arguments)
        given, settings = add_interrupted(arguments, settings, resumed), resumed
    if chosen.declared:
        settings = apply_declaration(settings, arguments)
    report_targets = [reports.parse_option(option) for option in settings.report]
    baseline = options.read_baseline(chosen.baseline, {kind for kind, _ in report_targets})
    connections = add_proxy_headers(options.find_connections(settings, given), chosen.headers, chosen.key_env)
    check_update_options(arguments, settings.known_failures)
    selection = _select(settings, chosen)
    files = _read_known_failures(settings, chosen, connections, selection)
    path, copy, folder = _choose_results_files(settings.report, interrupted, stack)
    order = replace(
        _make_request(settings, chosen, connections, selection, files), resumed=earlier, copy=copy
    )
    to_stdout = any(target == "-" for _, target in report_targets)
    # A report on stdout is for a machine, so nothing else is printed there.
    quiet = 2 if to_stdout else chosen.quiet
    with locate_load_error(chosen.plant):
        finished, terminal = _execute(order, path, folder, chosen, quiet=quiet, to_stdout=to_stdout)
    page_context = make_page_contexts(selection.catalog, {trial.case.id for trial in selection.trials})
    rest = (
        None
        if chosen.declared
        else describe_rest(selection.profile, selection.catalog, finished.results.header, given)
    )
    # Each of these runs even if one before it raises.
    with ExitStack() as reversed_steps:
        reversed_steps.callback(write_reports, report_targets, finished.results, page_context, baseline)
        if chosen.plant is not None and is_answered(finished):
            return answer_plant(order, finished, quiet=quiet, verbose=bool(chosen.verbose))
        reversed_steps.callback(_print_unjudged, selection, rest, quiet)
        if not quiet:
            reversed_steps.callback(_print_lines, describe_not_run(finished, arguments))
            if chosen.declared and finished.exit == Exit.EXPECTED:
                reversed_steps.callback(click.echo, f"As declared: {describe_declared(finished.results)}")
        if quiet < 2:
            terminal.finish(finished.results, time.perf_counter() - started)
    if chosen.update:
        update_known_failures(files, finished, strict=order.settings.strict)
    return finished.exit


def _make_request(
    settings: ProjectSettings,
    chosen: RunOptions,
    connections: tuple[Connection, ...],
    selection: Selection,
    files: tuple[KnownFailuresFile, ...],
) -> RunRequest:
    """Return the request for a run that begins now."""
    run_settings = _make_run_settings(settings, chosen, connections)
    return RunRequest(
        connections=connections,
        trials=selection.trials,
        settings=run_settings,
        selection=_list_recorded(settings, selection, chosen, strict=run_settings.strict),
        known_failures=tuple(file.listed for file in files),
        digest=selection.compute_digest(),
        command=shlex.join(("conform", *hide_header_values(sys.argv[1:]))),
        answers=chosen.answers,
        budget=_make_budget(chosen.budget, selection.catalog.sources.specs),
    )


def _select(settings: ProjectSettings, chosen: RunOptions) -> Selection:
    """Return the selected trials, after fetching the recordings that they need."""
    fetch_recordings(settings.selection, agreed=chosen.pull)
    selection, note = options.select_for_run(settings, last_failed=chosen.last_failed)
    if note:
        click.echo(note, err=True)
    return selection


def _read_known_failures(
    settings: ProjectSettings, chosen: RunOptions, connections: Sequence[Connection], selection: Selection
) -> tuple[KnownFailuresFile, ...]:
    """Return the files for the implementations, after saying which of them is about another selection."""
    files = read_known_failures(
        KnownFailuresSettings(
            settings.known_failures,
            settings.selection,
            strict=settings.strict,
            narrowed=bool(chosen.select),
            last_failed=chosen.last_failed,
            update=chosen.update,
        ),
        [connection.impl for connection in connections],
        make_unmatched_finder(selection, settings.selection.seed),
    )
    for note in filter(None, (file.describe_other_scope() for file in files)):
        options.print_note(note)
    return files


def _execute(
    order: RunRequest,
    path: Path,
    folder: RunFolder | None,
    chosen: RunOptions,
    *,
    quiet: int,
    to_stdout: bool,
) -> tuple[FinishedRun, Terminal]:
    """Run the trials, and show how far the run is."""
    strict = order.settings.strict
    # A report on stdout does not suppress progress on stderr, but `-q` does.
    has_lines = not chosen.quiet and (to_stdout or not sys.stdout.isatty())
    with (
        Terminal(
            quiet=min(quiet, 1), verbose=chosen.verbose, strict=strict, durations=chosen.durations
        ) as terminal,
        ProgressLines(enabled=has_lines, strict=strict) as lines,
    ):
        return execute_run(order, path, _make_progress(terminal, lines, folder)), terminal


def _make_progress(terminal: Terminal, lines: ProgressLines, folder: RunFolder | None) -> Progress:
    def start(header: Header) -> None:
        if folder is not None:
            folder.mark_latest()  # only now, because it has results
        terminal.start(header)
        lines.start(header)

    def advance(result: TrialResult) -> None:
        terminal.advance(result)
        lines.advance(result)

    return Progress(start, advance, on_long_wait=options.print_note)


def _list_recorded(
    settings: ProjectSettings, selection: Selection, chosen: RunOptions, *, strict: bool
) -> dict[str, Any]:
    """Return the settings that results record, from which a later command can select the same trials."""
    recorded = asdict(settings.selection) | {
        "known_failures": settings.known_failures,
        # The effective value: mutants are always judged strictly, and reports read it from the results.
        "strict": strict,
        "last_failed": chosen.last_failed,
    }
    if selection.profile is not None:
        recorded["profile"] = selection.profile.name  # `core` may be a different release in a later version
    return {key: recorded[key] or None for key in RECORDED_SETTINGS} | (
        {"declared": True} if chosen.declared else {}
    )


def _find_earlier(
    settings: ProjectSettings, chosen: RunOptions, stack: ExitStack
) -> tuple[Path, Results] | tuple[None, None]:
    """Return the path and the results of the run to resume, which `stack` unlocks, if `--resume` is given."""
    if not chosen.resume:
        return None, None
    if chosen.answers:
        raise UsageError("`--answers` cannot be combined with `--resume`: earlier answers are not saved")
    path = find_interrupted(settings.report)
    # Before the results are read, because a run that is still active would add to them.
    stack.enter_context(lock_run(path))
    return path, read(path)


def _choose_results_files(
    report: Sequence[str], interrupted: Path | None, stack: ExitStack
) -> tuple[Path, Path | None, RunFolder | None]:
    """Return the file for the results, the file for a copy, and the new folder that contains one of them.

    The results are always in `.conform/runs`, where other commands look for the last run; `stack` unlocks the
    folder. If `--report jsonl=PATH` is given, they are also at PATH, even if `.conform` cannot be written.
    """
    path = options.find_results_path(report)
    if path is None:
        if interrupted is not None:
            return interrupted, None, None
        folder = stack.enter_context(create_run_folder())
        return folder.results, None, folder
    if interrupted is not None and is_in_run_folder(interrupted):
        return path, interrupted, None
    try:
        folder = stack.enter_context(create_run_folder())
    except ReportError:
        return path, None, None
    return path, folder.results, folder


def _print_unjudged(selection: Selection, rest: str | None, quiet: int) -> None:
    """Print how to run the `rest` of the suite, and how to get any selected recordings that are missing."""
    if rest is not None and not quiet:
        print_lines([StyledLine(rest)])
    cases = {trial.case.id: trial.case for trial in selection.trials}.values()
    missing = sum(isinstance(case, Case) and case.unavailable is not None for case in cases)
    if missing and quiet < 2:
        words = f"{format_count(missing, 'case')} skipped: {NOT_PULLED} (to {find_corpus()})"
        click.echo(words, err=True)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def _make_budget(seconds: float | None, specs: Path) -> Budget | None:
    return None if seconds is None else Budget(seconds, read_order(specs))


def _make_run_settings(
    settings: ProjectSettings, chosen: RunOptions, connections: tuple[Connection, ...]
) -> Settings:
    is_broken = any(connection.impl.startswith(BROKEN) for connection in connections)
    return Settings(
        workers=settings.workers or count_default_workers(),
        timeout=settings.timeout or 10.0,
        start_timeout=settings.start_timeout,
        seed=settings.selection.seed,
        strict=is_broken or settings.strict,
        input=settings.selection.input,
        maxfail=options.get_failure_limit(exitfirst=chosen.exitfirst, maxfail=chosen.maxfail),
    )
