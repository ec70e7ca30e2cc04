"""`conform run`: judge implementations and exit with what came out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from streamconform import reports
from streamconform.adapters.connect import Connection, connect
from streamconform.adapters.connect import command as program_command
from streamconform.cli import options
from streamconform.errors import ReportError
from streamconform.reports.terminal import Terminal
from streamconform.run.plan import Settings
from streamconform.run.session import Order, Progress, conduct

RESULTS = Path(".conform") / "results.jsonl"
"""Where results go that nobody asked for elsewhere."""


@click.command("run")
@click.option(
    "-i",
    "--impl",
    multiple=True,
    metavar="IMPL",
    help='What to judge: reference, a package, python:MODULE:NAME, "cmd:PROGRAM ARGS", mutant:NAME.',
)
@options.selection_options
@options.sources_options
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
    help="Also write a report: json or jsonl; PATH - is stdout. Repeatable. "
    "Results always go to .conform/results.jsonl, unless jsonl=PATH says where.",
)
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

    Without --impl and without config, the bundled reference is judged.
    """
    started = time.perf_counter()
    chosen = options.settings(given)
    wanted = [reports.parse(each) for each in chosen.get("report", ())]
    connections = _connections(chosen)
    order = Order(
        connections=connections,
        trials=options.trials(chosen),
        settings=_settings(chosen, connections),
        selection={
            key: chosen.get(key) or None for key in ("select", "api", "deliver", "specs", "cassettes")
        },
    )
    jsonl = next((Path(path) for kind, path in wanted if kind == reports.STREAMED), None)
    path = jsonl or _default_results()
    to_stdout = any(target == "-" for _, target in wanted)
    quiet = 2 if to_stdout else chosen.get("quiet", 0)  # machine output is never mixed with prose
    with Terminal(
        quiet=min(quiet, 1), verbose=chosen.get("verbose", 0), strict=order.settings.strict
    ) as terminal:
        finished = conduct(order, path, Progress(terminal.begun, terminal.ended))
        if quiet < 2:
            terminal.finished(finished.results, time.perf_counter() - started)
    for kind, target in wanted:
        if kind != reports.STREAMED:
            reports.write(kind, target, finished.results)
    ctx.exit(finished.exit)


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
        maxfail=1 if chosen.get("exitfirst") else chosen.get("maxfail", 0),
    )


def _default_results() -> Path:
    """Return the default path, its folder made and kept out of version control."""
    ignore = RESULTS.parent / ".gitignore"
    try:
        RESULTS.parent.mkdir(exist_ok=True)
        if not ignore.exists():
            ignore.write_text("*\n", "utf-8")
    except OSError as error:
        where = "say where results go with `--report jsonl=PATH`"
        raise ReportError(f"`{RESULTS.parent}` cannot be written here: {error.strerror}; {where}") from error
    return RESULTS
