"""`conform minimise CASE --impl …`: the smallest stream that still fails the same check."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from streamconform.adapters.connect import connect
from streamconform.cli import options
from streamconform.errors import SelectionError, UsageError
from streamconform.model.case import AnyCase, Case, RoundTripCase
from streamconform.model.trial import DELIVERY_SETS, Trial
from streamconform.run.exits import Exit
from streamconform.run.interruptible import run
from streamconform.suite.expand import expand, one
from streamconform.tools.minimise import render
from streamconform.tools.minimise.oracle import Candidate, SearchBudget
from streamconform.tools.minimise.search import MinimiseJob, Search, select_reducible
from streamconform.tools.minimise.write import Written, recipe, write

OUT: Final = "minimised"


@click.command("minimise")
@click.argument("case")
@click.option("-i", "--impl", metavar="IMPL", help="What fails. [default: the config's]")
@options.input_option
@click.option("--check", metavar="PATH", help="Keep this check failing. [default: the first of the worst]")
@click.option("--out", metavar="DIR", default=OUT, show_default=True, help="Where specs/ and cassettes/ go.")
@click.option("--no-write", is_flag=True, help="Only print.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "markdown")),
    default="text",
    show_default=True,
    help="What is printed; markdown is for an issue.",
)
@click.option("--max-trials", type=click.IntRange(min=1), default=2000, show_default=True)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Seconds for all of it; what is the smallest by then is kept.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds for one trial; lower it where the failure is a hang.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of random cuts. [default: 0]")
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
    **given: Any,
) -> None:
    """Find the smallest stream that fails the same check as CASE does.

    CASE is a case's id or the end of it; with `@DELIVERY` or `@FAULT.N` behind it the bytes are as that makes
    them, without, the first delivery or fault that fails.

    \b
    conform minimise parallel-calls-with-ping -i mypkg
    conform minimise plain-text@utf8-split -i mypkg --check 'content.*.text'
    conform minimise parallel-calls -i peer:litellm --format markdown --no-write | gh issue create -F -

    Frames, members of payloads and characters are left out as long as the check fails in the same way, and
    nothing becomes illegal that was legal. Writes a cassette and a draft spec below --out, and says
    how to run it.

    Exit codes: 0 a stream is printed and written, 2 usage, or nothing fails; 3 implementation unusable;
    130 interrupted, the smallest stream until then is written.
    """
    chosen = options.settings(given)
    found = options.find_case(case, chosen)
    order = MinimiseJob(
        connection=connect(_impl(impl, chosen)),
        trials=_trials(found, case.partition("@")[2], chosen.get("seed", 0)),
        check=check,
        input=chosen.get("input"),
        timeout=timeout,
        max_trials=max_trials,
        seconds=time_limit,
    )
    search = Search(order)
    interrupted = False
    try:
        with _progress(search):
            run(search.run())
    except KeyboardInterrupt:
        interrupted = True
    if search.best is None:
        ctx.exit(Exit.INTERRUPTED)
    own = {name: chosen[name] for name in ("input", "seed", "specs", "cassettes") if chosen.get(name)}
    told = "".join(f" --{name} {shlex.quote(str(value))}" for name, value in own.items())
    written = None if no_write else write(Path(out), search, search.best, recipe(search, told))
    click.echo(_said(form, search, written))
    if interrupted:
        ctx.exit(Exit.INTERRUPTED)


def _impl(impl: str | None, chosen: dict[str, Any]) -> str:
    named = (impl,) if impl else tuple(chosen.get("impl", ()))
    if len(named) != 1:
        many = "the config names several" if named else "there is none in the config"
        raise UsageError(f"`--impl` names the implementation that fails; {many}")
    return str(named[0])


def _trials(case: AnyCase, name: str, seed: int) -> tuple[Trial, ...]:
    """Return what may fail: the delivery or fault that is named, or the standard ones in their order."""
    if not isinstance(case, Case):
        words = "is about requests" if isinstance(case, RoundTripCase) else "has no stream"
        raise SelectionError(f"`{case.id}` {words}: what it is given stands in {case.path}:{case.line}")
    if name:
        trials: tuple[Trial, ...] = (one(case, name, seed),)
    else:
        every = expand((case,), DELIVERY_SETS["standard"], "bytes", seed, "one")
        trials = tuple(each for each in every if isinstance(each, Trial))
    left = select_reducible(trials)
    if not left:
        raise SelectionError(
            f"`{case.id}@{name}`: a connection that fails is in no cassette; `@cut-after-frame` is its like"
        )
    return left


def _said(form: str, search: Search, written: Written | None) -> str:
    impl = f"-i {shlex.quote(search.order.connection.impl)}"
    if written is None:
        given = search.oracle.given.id if search.oracle is not None else ""
        run = f"conform explain {given} {impl}"
    else:
        fed = f" --input {search.order.input}" if search.order.input else ""
        strict = " --strict" if search.order.trials[0].level == "should" else ""
        where = "".join(
            f" --{name} {shlex.quote(str(written.folder / name))}" for name in ("specs", "cassettes")
        )
        run = f"conform run{where} {impl} -k {written.id}{fed}{strict}"
    if form == "markdown":
        return render.markdown(search, search.proof, run)
    return render.text(search, search.proof, written, run)


@contextmanager
def _progress(search: Search) -> Iterator[None]:
    """Show what is found on stderr while it is searched, on a terminal only."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("  minimising {task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("")

    def smaller(candidate: Candidate, budget: SearchBudget) -> None:
        said = f"{candidate.frames} frames, {len(candidate.trial.body):,} bytes, {budget.trials} trials"
        bar.update(task, description=said)

    search.smaller = smaller
    with bar:
        yield
