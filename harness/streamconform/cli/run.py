"""`conform run`: judge implementations and exit with what came out."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from streamconform import reports
from streamconform.adapters.connect import Connection, connect
from streamconform.adapters.connect import connect_command as program_command
from streamconform.cli import options
from streamconform.cli.known_failures import (
    in_suite,
    known_failures,
    known_failures_options,
    must_update_whole,
    update,
)
from streamconform.cli.placed import placed
from streamconform.errors import ReportError
from streamconform.reports.terminal import Terminal
from streamconform.run.plan import Settings
from streamconform.run.session import Progress, RunRequest, execute_run

RECORDED: Final = (
    "select",
    "api",
    "profile",
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
"""The settings that the header of the results keeps: what was selected, and how it was judged."""


@click.command("run")
@click.option(
    "-i",
    "--impl",
    multiple=True,
    metavar="IMPL",
    help='What to judge: reference, a package, python:MODULE:NAME, "cmd:PROGRAM ARGS", peer:NAME (`conform '
    "peers list`), proxy:URL (docs/proxies.md), mutant:NAME.",
)
@options.input_option
@options.selection_options
@options.last_failed_option
@options.sources_options
@known_failures_options
@click.option(
    "-n", "--workers", type=click.IntRange(min=1), help="Programs at once. [default: one a core, at most 4]"
)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for one trial. [default: 10]"
)
@click.option(
    "--strict/--no-strict", default=None, help="Let warnings (level should) fail the run; mutants always do."
)
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first unexpected verdict.")
@click.option("--maxfail", type=click.IntRange(min=1), help="Stop after this many unexpected verdicts.")
@click.option(
    "--report",
    multiple=True,
    metavar="KIND=PATH",
    help=f"Also write a report: {', '.join((*reports.REPORTS, *reports.SUITED))} or jsonl; PATH - is stdout. "
    "Repeatable. Results always go to .conform/results.jsonl, unless jsonl=PATH says where.",
)
@options.baseline_option
@click.option("-q", "--quiet", count=True, help="Print only the last line; twice: nothing.")
@click.option("-v", "--verbose", count=True, help="Print warnings too, and every case of a cause.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Judge implementations against the recorded streams.

    \b
    conform run                                   the bundled reference parser
    conform run -i mypkg                          entry point `mypkg`, else mypkg.conform:adapter
    conform run -i python:mypkg.mod:name          a callable
    conform run -i "cmd:node adapter.mjs"         a program that speaks JSON lines
    conform run -- ./my-parser --flag             the same, behind --
    conform run -k 'anthropic-messages/tool-use/**' --deliver fast
    conform run --known-failures known.yaml       what is listed may fail; --update-known-failures lists it
    conform run -i mypkg --input http             your real client, against a server that replays the streams
    conform run --report html=r.html              a page with every difference and the bytes behind it
    conform run --last-failed                     only what was unexpected in the last run

    Without --impl and without config, the bundled reference is judged.
    """
    started = time.perf_counter()
    chosen = options.settings(given)
    wanted = [reports.parse(each) for each in chosen.get("report", ())]
    earlier = options.baseline(given["baseline"], {kind for kind, _ in wanted})
    connections = _connections(chosen)
    must_update_whole(given, chosen)
    with _uncollected():
        found, note = options.rerun(chosen)
    if note:
        click.echo(note, err=True)
    known = known_failures(
        chosen, [each.impl for each in connections], in_suite(found, chosen.get("seed", 0))
    )
    how = _settings(chosen, connections)
    order = RunRequest(
        connections=connections,
        trials=found.trials,
        settings=how,
        selection={key: (chosen | {"strict": how.strict}).get(key) or None for key in RECORDED},
        known_failures=tuple(each.listed for each in known),
    )
    path = options.results_path(chosen)
    if path == options.RESULTS:
        keep_results_out_of_version_control()
    to_stdout = any(target == "-" for _, target in wanted)
    quiet = 2 if to_stdout else chosen.get("quiet", 0)  # machine output is never mixed with prose
    with Terminal(quiet=min(quiet, 1), verbose=chosen.get("verbose", 0), strict=how.strict) as terminal:
        finished = execute_run(order, path, Progress(terminal.begun, terminal.ended))
        if quiet < 2:
            terminal.finished(finished.results, time.perf_counter() - started)
    place = placed(found.catalog, {trial.case.id for trial in found.trials})
    for kind, target in wanted:
        if kind != reports.STREAMED:
            reports.write(kind, target, finished.results, place, earlier)
    if chosen.get("update"):
        for line in update(known, finished, strict=how.strict):
            click.echo(line, err=True)
    ctx.exit(finished.exit)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave out the garbage collector, now and later, for what is made: all of it is kept to the end."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def _connections(chosen: dict[str, Any]) -> tuple[Connection, ...]:
    program = tuple(chosen.get("program", ()))
    named = chosen.get("impl", ())
    if program:
        return (*(connect(impl) for impl in named if impl in _given(chosen)), program_command(program))
    return tuple(connect(impl) for impl in named or ("reference",))


def _given(chosen: dict[str, Any]) -> tuple[str, ...]:
    """Return the implementations of the command line: a program behind `--` replaces those of the config."""
    return tuple(chosen["impl"]) if isinstance(chosen.get("impl"), tuple) else ()


def _settings(chosen: dict[str, Any], connections: tuple[Connection, ...]) -> Settings:
    """Return how to run; a mutant is judged strictly, because the suite has to see what it only warns of."""
    mutants = any(connection.impl.startswith("mutant:") for connection in connections)
    return Settings(
        workers=chosen.get("workers") or options.default_workers(),
        timeout=float(chosen.get("timeout", 10)),
        seed=chosen.get("seed", 0),
        strict=mutants or bool(chosen.get("strict", False)),
        input=chosen.get("input"),
        maxfail=1 if chosen.get("exitfirst") else chosen.get("maxfail", 0),
    )


def keep_results_out_of_version_control() -> None:
    """Make the folder of results, with the file that says so."""
    folder = options.RESULTS.parent
    ignore = folder / ".gitignore"
    try:
        folder.mkdir(exist_ok=True)
        if not ignore.exists():
            ignore.write_text("*\n", "utf-8")
    except OSError as error:
        where = "say where results go with `--report jsonl=PATH`"
        raise ReportError(f"`{folder}` cannot be written here: {error.strerror}; {where}") from error
