"""`conform dev selftest`: check that the suite catches parsers that are broken on purpose."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import structs

from streamconform.cli import completion, options
from streamconform.config import ProjectSettings, read_settings
from streamconform.model.case import AnyCase
from streamconform.model.trial import UNCHANGED, VARIANTS, AnyTrial, RoundTrip
from streamconform.plural import format_count
from streamconform.reports import write_text
from streamconform.run.exits import Exit
from streamconform.run.workers import count_default_workers
from streamconform.suggestions import suggest
from streamconform.suite.kinds import Cell, Kinds, find_path, read_kinds
from streamconform.suite.selection import Selection, select
from streamconform.suite.threads import Thread, read_threads
from streamconform_dev.selftest.cells import list_mutant_cells
from streamconform_dev.selftest.execute import run_groups
from streamconform_dev.selftest.groups import SECONDS_PER_TRIAL, group_mutants
from streamconform_dev.selftest.kill import (
    Expected,
    MutantResult,
    Unproven,
    find_idle_cases,
    find_unproven,
    make_matrix,
)
from streamconform_dev.selftest.own_cases import Goal, Guarded, run_own_cases
from streamconform_dev.selftest.replay import fails_round_trip
from streamconform_dev.selftest.table import format_table
from streamconform_dev.selftest.variants import add_originals, choose_few, find_caught, list_variants

if TYPE_CHECKING:
    from streamconform_mutants import Mutant

SIZES: Final = ("**/sizes/no-deltas", "**/sizes/text-64-kib", "**/sizes/*-1-mib")
"""The cases about sizes that take less than a second."""
GUARDED_SIZES: Final = ("google-generate/sizes/image-48-mib",)
"""The others that guard against a known bug."""


def complete_innocents(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the innocent names that start with `incomplete`."""
    del ctx, parameter
    from streamconform_innocents import INNOCENTS

    return [name for name in INNOCENTS if name.startswith(incomplete)]


@click.command("selftest")
@click.option("--list", "listed", is_flag=True, help="List the mutants with their kinds and bugs, and exit.")
@click.option(
    "--mutant",
    multiple=True,
    metavar="NAME",
    shell_complete=completion.complete_mutants,
    help="Only this mutant. Repeatable.",
)
@click.option(
    "--innocent",
    "innocents",
    multiple=True,
    is_flag=False,
    flag_value="all",
    metavar="[NAME]",
    shell_complete=complete_innocents,
    help="Test with innocents instead: parsers that use one documented freedom each, and must not fail. With "
    "NAME, only that one. Repeatable.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Run each mutant on every case, and count the cases that catch it. Implied by --mutant, by --table, "
    "and if only a part of the suite is selected.",
)
@click.option("-n", "--workers", type=click.IntRange(min=1), help="Number of parallel workers.")
@click.option(
    "-v",
    "--verbose",
    count=True,
    help="List the cases that catch each mutant, and those that catch none.",
)
@click.option("--table", metavar="PATH", help="Also write the matrix as Markdown; - means stdout.")
@options.selection_options
@options.sources_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    listed: bool,  # noqa: FBT001
    mutant: tuple[str, ...],
    innocents: tuple[str, ...],
    **arguments: Any,
) -> None:
    """Test the suite itself: each mutant must be caught, and only by checks related to its bug.

    Each mutant runs on the cases that guard against its kind of bug and, where none of them catches it, on
    others until one does. With --full, it runs on every case, which takes twenty times as long.

    With --innocent: no case may fail a parser that uses a freedom that the documentation grants.

    A guard must be proven: specs/threads.yaml names the kinds of a bug in `guards`, and the case must notice
    a mutant of one of them.

    With --deliver variants: each variant must catch a mutant that reads the stream itself as it should.

    If only a part of the suite is selected, only what it catches is listed, and what it does not catch or
    prove is no failure, unless --mutant names it.

    Exit code 1: a mutant survives, or fails unrelated checks; a guard is not proven; a variant catches no
    mutant; or an innocent fails a `must`, or changes no answer of an API.
    """
    if mutant and innocents:
        raise click.UsageError("--mutant and --innocent exclude each other; run the command twice")
    if innocents:
        from streamconform_dev.cli.innocents import check_innocents, print_innocents

        if listed:
            print_innocents()
            return
        ctx.exit(check_innocents(innocents, arguments, SECONDS_PER_TRIAL))
    if listed:
        _print_mutants()
    else:
        ctx.exit(_check_mutants(mutant, arguments))


def _print_mutants() -> None:
    from streamconform_mutants import MUTANTS

    for info in MUTANTS.values():
        click.echo(f"{info.name} ({info.kind}): {info.bug}")


def _check_mutants(names: Sequence[str], arguments: Mapping[str, Any]) -> Exit:
    """Judge the mutants in `names`, or all, print a line for each, and return the exit code."""
    from streamconform_mutants import MUTANTS

    mutants = _find_mutants(names)
    settings, verbose = read_settings(arguments), bool(arguments["verbose"])
    selection = select(settings.selection)
    if settings.selection.deliver == "variants":
        return _check_variants(mutants, selection.trials, settings, full=bool(arguments["full"]))
    is_part = settings.selection.is_part
    full = bool(arguments["full"] or arguments["table"] or names or is_part)
    if not is_part:
        # Huge streams run only if they are named, and every bug in reading long events needs one.
        sized = select(replace(settings.selection, select=SIZES if full else (*SIZES, *GUARDED_SIZES)))
        selection = structs.replace(selection, trials=(*selection.trials, *sized.trials))
    suite = _make_suite(selection)
    workers = settings.workers or count_default_workers()
    rows, idle_cases, proofs = _judge(mutants, suite, workers, full=full)
    # A part of the suite need not catch everything.
    if not names and is_part:
        rows = tuple(replace(row, missed=()) for row in rows if row.cases)
    _print_rows(rows, idle_cases, verbose=verbose, full=full)
    if arguments["table"]:
        write_text(arguments["table"], format_table(rows, MUTANTS, suite.threads, idle_cases).rstrip("\n"))
    caught, cases = sum(row.killed for row in rows), len(suite.cases)
    catching = f" by {cases - len(idle_cases)} of {format_count(cases, 'case')}" if full else ""
    click.echo(f"{caught} of {len(mutants)} mutants caught{catching}")
    guarding = () if names else tuple(suite.cases.values())
    unproven = find_unproven(guarding, suite.threads, proofs)
    if guarding:
        _print_guards(sum(len(case.guards) for case in guarding), unproven)
    failed = caught < len(rows) or (unproven and not is_part)
    return Exit.UNEXPECTED if failed else Exit.EXPECTED


def _print_rows(
    rows: Sequence[MutantResult], idle_cases: Sequence[str], *, verbose: bool, full: bool
) -> None:
    from streamconform_mutants import MUTANTS

    for row in rows:
        _print_row(row, verbose=verbose, full=full)
    # With only some of the mutants, almost every case would be listed.
    if verbose and full and len(rows) == len(MUTANTS):
        for case in idle_cases:
            click.echo(f"catches no mutant: {case}")


def _check_variants(
    mutants: Mapping[str, Mutant], trials: Sequence[AnyTrial], settings: ProjectSettings, *, full: bool
) -> Exit:
    """Print the mutants that each variant catches, and return the exit code."""
    from streamconform_mutants import MUTANTS

    variants = list_variants(trials)
    chosen = trials if full else choose_few(trials)
    judged = tuple(add_originals(chosen, settings.selection.seed))
    groups = tuple(group_mutants(tuple(mutants), judged))
    results = run_groups(groups, settings.workers or count_default_workers(), SECONDS_PER_TRIAL)
    caught = find_caught(groups, results)
    for api, name in variants:
        found = sorted(caught.get((api, name), ()))
        click.echo(f"{api:<20}{name:<20}{', '.join(found) or 'catches no mutant'}")
    catching = sum(variant in caught for variant in variants)
    click.echo(f"{catching} of {format_count(len(variants), 'variant')} catch mutants that pass without it")
    is_part = settings.selection.is_part or len(mutants) < len(MUTANTS)
    return Exit.EXPECTED if is_part or catching == len(variants) else Exit.UNEXPECTED


def _find_mutants(names: Sequence[str]) -> dict[str, Mutant]:
    from streamconform_mutants import MUTANTS

    unknown = [name for name in names if name not in MUTANTS]
    if unknown:
        hint = suggest(unknown[0], MUTANTS) or "; `conform dev selftest --list` lists them"
        raise click.UsageError(f"no mutant `{unknown[0]}`{hint}")
    return {name: info for name, info in MUTANTS.items() if not names or name in names}


@dataclass(frozen=True, slots=True)
class _Suite:
    """The selected trials and their cases, with the kinds of bugs and the threads that they name."""

    trials: tuple[AnyTrial, ...]
    cases: Mapping[str, AnyCase]
    kinds: Kinds
    threads: Mapping[str, Thread]
    guarded: Guarded


def _make_suite(selection: Selection) -> _Suite:
    specs = selection.catalog.sources.specs
    threads = read_threads(specs)
    cases = {trial.case.id: trial.case for trial in selection.trials}
    guarded = Guarded(
        {
            id_: {kind for bug in case.guards if bug in threads for kind in threads[bug].kinds}
            for id_, case in cases.items()
        },
        {id_: Cell(case.api, path) for id_, case in cases.items() if case.api and (path := find_path(case))},
    )
    return _Suite(selection.trials, cases, read_kinds(specs), threads, guarded)


def _judge(
    mutants: Mapping[str, Mutant], suite: _Suite, workers: int, *, full: bool
) -> tuple[tuple[MutantResult, ...], tuple[str, ...], set[tuple[str, str]]]:
    """Return the results of the mutants, the cases that catch none of them, and what proves guards.

    These are pairs of a kind of bug and a case in which a mutant of that kind differs, if only in a `may`.
    """
    groups = tuple(group_mutants(tuple(mutants), suite.trials))
    kinds = suite.kinds
    expected = {name: Expected(info.fails, list_mutant_cells(info, kinds)) for name, info in mutants.items()}
    if full:
        results = run_groups(groups, workers, SECONDS_PER_TRIAL)
    else:
        goals = {name: Goal(info.kind, expected[name].cells or (None,)) for name, info in mutants.items()}
        results = run_own_cases(groups, goals, suite.guarded, workers, SECONDS_PER_TRIAL)
    rows = tuple(
        row
        for group, found in zip(groups, results, strict=True)
        for row in make_matrix(found, {name: expected[name] for name in group.adapters}, suite.guarded.places)
    )
    cases = (case for group in groups for case in group.case_ids)
    proofs = {
        (mutants[names[result.implementation]].kind, result.case)
        for group, found in zip(groups, results, strict=True)
        if (names := tuple(group.adapters))
        for result in found
        if result.delivery not in VARIANTS
    }
    proofs |= {*_play_round_trips(mutants.values(), suite)}
    return rows, find_idle_cases(cases, (result for found in results for result in found)), proofs


def _play_round_trips(mutants: Collection[Mutant], suite: _Suite) -> Iterator[tuple[str, str]]:
    """Yield the kind of each mutant that fails a round trip which guards against it, and the case.

    The reference passes the round trip.
    """
    from streamconform_reference import adapter as reference

    for trial in suite.trials:
        case = trial.case
        guarded = suite.guarded.kinds[case.id]
        own = [mutant for mutant in mutants if mutant.kind in guarded and case.api in mutant.adapter.apis]
        if not own or not isinstance(trial, RoundTrip) or trial.delivery not in UNCHANGED:
            continue
        if not fails_round_trip(reference, trial):
            yield from ((mutant.kind, case.id) for mutant in own if fails_round_trip(mutant.adapter, trial))


def _print_guards(guards: int, unproven: Sequence[Unproven]) -> None:
    for each in unproven:
        click.echo(f"not proven: {each.case} guards against {each.bug} ({', '.join(each.kinds)})")
    click.echo(f"{guards - len(unproven)} of {format_count(guards, 'guard')} proven")


def _print_row(row: MutantResult, *, verbose: bool, full: bool) -> None:
    label = "caught" if row.killed else "ASTRAY" if row.cases else "SURVIVES"
    count = f"{row.name:<36} by {format_count(len(row.cases), 'case')}" if full else row.name
    click.echo(f"{label:<9} {count}")
    for id_ in row.unexpected[:5]:
        click.echo(f"          fails a check unrelated to its bug: {id_}")
    for cell in row.missed:
        click.echo(f"          not caught on {cell.api}, {cell.path}")
    if row.faulted:
        click.echo(f"          {format_count(row.faulted, 'trial')} without an answer")
    if verbose:
        for case in row.cases:
            click.echo(f"          {case}")
