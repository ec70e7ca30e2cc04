"""`conform minimise CASE --impl …`: find the smallest stream that still fails the same check."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from streamconform.adapters.build import run_build
from streamconform.adapters.connect import Connection
from streamconform.adapters.preflight import connect_startable
from streamconform.cli import commands, completion, options
from streamconform.config import ProjectSettings, read_settings
from streamconform.errors import SelectionError, UsageError
from streamconform.model.case import Case, RoundTripCase
from streamconform.model.trial import DELIVERY_SETS, Trial
from streamconform.plural import format_count
from streamconform.run.exits import Exit
from streamconform.run.interruptible import run_interruptible
from streamconform.suite.expand import expand, make_trial
from streamconform.suite.selection import SelectionSettings, find_case
from streamconform_capture.minimise import render
from streamconform_capture.minimise.oracle import Candidate, SearchBudget
from streamconform_capture.minimise.search import MinimiseJob, NothingToMinimise, Search, select_reducible
from streamconform_capture.minimise.write import WrittenFiles, format_command, scan_result, write_result

DEFAULT_FOLDER: Final = "minimised"
QUICK_TRIALS: Final = 500
"""The limit of a search that another command starts; most searches take fewer than a hundred trials."""
QUICK_SECONDS: Final = 60.0


@click.command("minimise")
@click.argument("case", shell_complete=completion.complete_cases)
@click.option(
    "-i",
    "--impl",
    metavar="IMPL",
    shell_complete=completion.complete_impls,
    help="Implementation that fails. [default: `impl` in the config]",
)
@options.input_option
@click.option(
    "--check",
    metavar="PATH",
    help="Check that must keep failing. [default: the first with the worst verdict]",
)
@click.option(
    "--out",
    metavar="DIR",
    default=DEFAULT_FOLDER,
    show_default=True,
    help="Folder for specs/ and cassettes/.",
)
@click.option("--no-write", is_flag=True, help="Print only, write nothing.")
@click.option(
    "--allow",
    multiple=True,
    metavar="FIELD|FINGERPRINT",
    help="Ignore a possible secret. Repeatable.",
)
@click.option(
    "--format",
    "form",
    type=commands.Choice(("text", "markdown")),
    default="text",
    show_default=True,
    help="Output format; markdown is for an issue.",
)
@click.option("--max-trials", type=click.IntRange(min=1), default=2000, show_default=True)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Seconds for the whole search; the smallest stream found by then is kept.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Timeout per trial, in seconds; lower it if the failure is a timeout.",
)
@options.start_timeout_option
@click.option("--seed", type=click.IntRange(min=0), help="Seed for the random chunk boundaries. [default: 0]")
@options.sources_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    case: str,
    impl: str | None,
    check: str | None,
    out: str,
    no_write: bool,  # noqa: FBT001 - click's flag
    form: str,
    max_trials: int,
    time_limit: float,
    timeout: float,
    **arguments: Any,
) -> None:
    """Find the smallest stream that fails the same check as CASE.

    CASE is a case id or the end of one. Add `@DELIVERY` or `@FAULT.N` to use the bytes of that delivery or
    fault; without it, the first delivery or fault that fails is used.

    \b
    conform minimise parallel-calls-with-ping -i mypkg
    conform minimise plain-text@utf8-split -i mypkg --check 'content.*.text'
    conform minimise parallel-calls -i peer:litellm --format markdown --no-write | gh issue create -F -

    Frames, payload members and characters are removed as long as the check still fails in the same way and a
    valid stream stays valid. A cassette and a draft spec are written to --out, and the command that runs them
    is printed. If the stream still contains a possible secret, nothing is printed or written.

    Exit codes: 0 a stream was printed and written, 2 usage error or nothing fails, 3 implementation unusable,
    130 interrupted (the smallest stream found so far is written).
    """
    settings = read_settings(arguments)
    chosen = _pick_impl(impl, settings.impl)
    run_build(settings.build, (chosen,), options.print_note)
    job = MinimiseJob(
        # Before the case is read, which takes a second.
        connection=connect_startable(chosen),
        trials=_find_trials(case, settings.selection),
        check=check,
        input=settings.selection.input,
        timeout=timeout,
        start_timeout=settings.start_timeout,
        on_long_wait=options.print_note,
        max_trials=max_trials,
        seconds=time_limit,
    )
    search, is_interrupted = _run_search(job)
    if search.best is None:
        ctx.exit(Exit.INTERRUPTED)
    written = _write(search, search.best, settings, None if no_write else Path(out))
    click.echo(_render_result(form, search, written))
    ctx.exit(Exit.INTERRUPTED if is_interrupted else Exit.EXPECTED)


def find_smallest(connection: Connection, trial: Trial) -> str | None:
    """Return the smallest stream on which an implementation fails like in `trial`, as text; None if none is.

    The search is short: it answers `conform run --plant`.
    """
    trials = select_reducible((trial,))
    if not trials:
        return None
    job = MinimiseJob(connection, trials, max_trials=QUICK_TRIALS, seconds=QUICK_SECONDS)
    try:
        search, _ = _run_search(job)
    except NothingToMinimise:
        return None
    if search.best is None:
        return None
    run = f"conform explain {trial.id} -i {shlex.quote(connection.impl)}"
    return render.render_text(search, search.final_failures, None, run)


def _run_search(job: MinimiseJob) -> tuple[Search, bool]:
    """Return the search, and whether it was interrupted."""
    search = Search(job)
    try:
        with _progress_bar(search):
            run_interruptible(search.run())
    except KeyboardInterrupt:
        return search, True
    return search, False


def _write(
    search: Search, best: Candidate, settings: ProjectSettings, folder: Path | None
) -> WrittenFiles | None:
    """Write the smallest stream to `folder`, or only check that it contains no possible secret."""
    selection = settings.selection
    names = [name for name in ("input", "seed", "specs", "cassettes") if getattr(selection, name)]
    option_text = "".join(f" --{name} {shlex.quote(str(getattr(selection, name)))}" for name in names)
    command = format_command(search, option_text)
    if folder is None:
        # What is printed may be published too.
        scan_result(search, best, command, settings.allow)
        return None
    return write_result(folder, search, best, command, settings.allow)


def _pick_impl(impl: str | None, configured: tuple[str, ...]) -> str:
    impls = (impl,) if impl else configured
    if not impls:
        raise UsageError("Missing --impl (and no `impl` in conform.toml)")
    if len(impls) > 1:
        raise UsageError("Missing --impl: the config has several implementations; choose one")
    return impls[0]


def _find_trials(id_: str, settings: SelectionSettings) -> tuple[Trial, ...]:
    """Return the trials that may fail: the one for the named delivery or fault, or all standard ones."""
    case, name, seed = find_case(id_, settings), id_.partition("@")[2], settings.seed
    if not isinstance(case, Case) or not case.stream:
        kind = (
            "tests an answer without streaming"
            if isinstance(case, Case)
            else "tests requests"
            if isinstance(case, RoundTripCase)
            else "tests a function"
        )
        raise SelectionError(
            f"`{case.id}` {kind}, and only streams can be minimised; its input is in {case.path}:{case.line}"
        )
    if name:
        trials: tuple[Trial, ...] = (make_trial(case, name, seed),)
    else:
        expanded = expand((case,), DELIVERY_SETS["standard"], "bytes", seed, "one")
        trials = tuple(trial for trial in expanded if isinstance(trial, Trial))
    candidates = select_reducible(trials)
    if not candidates:
        raise SelectionError(
            f"`{case.id}@{name}`: a cassette cannot represent a broken connection or a WebSocket; "
            "use `@cut-after-frame` or `@as-is` instead"
        )
    return candidates


def _render_result(form: str, search: Search, written: WrittenFiles | None) -> str:
    impl = f"-i {shlex.quote(search.job.connection.impl)}"
    if written is None:
        trial_id = search.oracle.original.id if search.oracle is not None else ""
        run = f"conform explain {trial_id} {impl}"
    else:
        input_option = f" --input {search.job.input}" if search.job.input else ""
        # Without it, a failure at level `should` is a warning, and the printed command would pass.
        strict = " --strict" if search.job.trials[0].level == "should" else ""
        folders = "".join(
            f" --{name} {shlex.quote(str(written.folder / name))}" for name in ("specs", "cassettes")
        )
        run = f"conform run{folders} {impl} -k {written.id}{input_option}{strict}"
    if form == "markdown":
        return render.render_markdown(search, search.final_failures, run)
    return render.render_text(search, search.final_failures, written, run)


@contextmanager
def _progress_bar(search: Search) -> Iterator[None]:
    """Show the smallest stream so far on stderr, if that is a terminal."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("  minimising {task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("")

    def show_candidate(candidate: Candidate, budget: SearchBudget) -> None:
        size = f"{format_count(candidate.frame_count, 'frame')}, {len(candidate.trial.body):,} bytes"
        bar.update(task, description=f"{size}, {format_count(budget.trials, 'trial')}")

    search.on_smaller = show_candidate
    with bar:
        yield
