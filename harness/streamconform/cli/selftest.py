"""`conform selftest`: parsers that are broken on purpose must be caught, each where it is broken."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click

from streamconform.adapters.connect import connect
from streamconform.cli import options
from streamconform.model.capability import CALLED
from streamconform.model.case import AnyCase, CallCase, Function
from streamconform.model.trial import AnyTrial
from streamconform.reports import write_text
from streamconform.run.exits import Exit
from streamconform.run.plan import Settings
from streamconform.run.results import Results
from streamconform.run.session import Progress, RunRequest, execute_run
from streamconform.tools.selftest.kill import Killed, idle, matrix
from streamconform.tools.selftest.table import table


@click.command("selftest")
@click.option("--list", "listed", is_flag=True, help="Only list the mutants: name, bug, issues.")
@click.option("--mutant", multiple=True, metavar="NAME", help="Only this mutant. Repeatable.")
@click.option("-n", "--workers", type=click.IntRange(min=1), help="Programs at once.")
@click.option("-v", "--verbose", count=True, help="List the cases that catch each mutant, and idle cases.")
@click.option("--table", metavar="PATH", help="Also write the matrix as Markdown; - is stdout.")
@options.selection_options
@options.sources_options
@click.pass_context
def command(ctx: click.Context, /, listed: bool, mutant: tuple[str, ...], **given: Any) -> None:  # noqa: FBT001
    """Judge the suite itself: each mutant has to be caught, and only where it is broken.

    Exit code 1: a mutant survives, no case that catches it names its bug, or it fails where it is not broken.
    """
    from streamconform_mutants import MUTANTS

    if listed:
        for each in MUTANTS.values():
            click.echo(f"{each.name}: {each.bug} ({', '.join(each.issues)})")
        return
    unknown = [name for name in mutant if name not in MUTANTS]
    if unknown:
        raise click.UsageError(f"no mutant `{unknown[0]}`; `conform selftest --list` names them")
    verbose = bool(given["verbose"])
    chosen = options.settings(given)
    meant = {name: each for name, each in MUTANTS.items() if not mutant or name in mutant}
    selected = options.trials(chosen)
    runs = [
        (matrix(results, {name: (meant[name].fails, meant[name].issues) for name in names}), results)
        for names, trials in _groups(tuple(meant), selected)
        for results in (_run(names, trials, chosen),)
    ]
    rows = tuple(row for killed, _ in runs for row in killed)
    for row in rows:
        _show(row, verbose=verbose)
    resting = idle([trial for _, results in runs for trial in results.trials])
    if verbose and len(rows) == len(MUTANTS):
        for case in resting:
            click.echo(f"catches no mutant: {case}")
    if given["table"]:
        bugs = {each.name: (each.bug, each.issues) for each in MUTANTS.values()}
        write_text(given["table"], table(rows, bugs, resting).rstrip("\n"))
    dead = sum(row.dead for row in rows)
    cases = len({trial.case.id for trial in selected})
    click.echo(f"{dead} of {len(rows)} mutants caught by {cases - len(resting)} of {cases} cases")
    ctx.exit(Exit.EXPECTED if dead == len(rows) else Exit.UNEXPECTED)


def _groups(
    names: tuple[str, ...], trials: tuple[AnyTrial, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[AnyTrial, ...]]]:
    """Yield the mutants that read the same apis or have the same functions, with the trials of those."""
    from streamconform_mutants import load

    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for name in names:
        adapter = load(name)
        functions = tuple(each for each in get_args(Function) if each in vars(adapter))
        groups.setdefault((tuple(adapter.apis), functions), []).append(name)
    for (apis, functions), members in groups.items():
        meant = tuple(each for each in trials if _concerns(each.case, apis, functions))
        if meant:
            yield tuple(members), meant


def _concerns(case: AnyCase, apis: tuple[str, ...], functions: tuple[str, ...]) -> bool:
    """Whether a mutant is asked: of its functions, which are what is broken, or of streams if it has none."""
    if case.api not in (apis or (None,)):
        return False
    return CALLED[case.kind][0] in functions if isinstance(case, CallCase) else not functions


def _run(names: tuple[str, ...], trials: tuple[AnyTrial, ...], chosen: dict[str, Any]) -> Results:
    order = RunRequest(
        connections=tuple(connect(f"mutant:{name}") for name in names),
        trials=trials,
        settings=Settings(workers=chosen.get("workers") or options.default_workers(), timeout=10.0),
        selection={},
        blame=False,
    )
    quiet = Progress(lambda _: None, lambda _: None)
    with tempfile.TemporaryDirectory() as folder:
        return execute_run(order, Path(folder) / "results.jsonl", quiet).results


def _show(row: Killed, *, verbose: bool) -> None:
    said = "caught" if row.dead else "SURVIVES" if not row.cases else "ASTRAY" if row.named else "UNNAMED"
    click.echo(f"{said:<9} {row.name:<36} by {len(row.cases)} cases")
    for id_ in row.astray[:5]:
        click.echo(f"          fails where it is not broken: {id_}")
    if row.faulted:
        click.echo(f"          {row.faulted} trials without an answer")
    if verbose:
        for case in row.cases:
            click.echo(f"          {case}")
