"""`conform dev selftest --innocent`: check that no case fails an implementation for a freedom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import click

from streamconform.apis import APIS
from streamconform.config import read_settings
from streamconform.model.trial import Trial
from streamconform.reports import write_text
from streamconform.run.exits import Exit
from streamconform.run.workers import count_default_workers
from streamconform.suggestions import suggest
from streamconform.suite.selection import select
from streamconform_dev.selftest.innocents import (
    FailedCheck,
    InnocentResult,
    InnocentVerdict,
    decide,
    run_innocents,
)
from streamconform_dev.selftest.innocents_table import describe_check, format_innocents
from streamconform_innocents import INNOCENTS, Innocent

ALL: Final = "all"
"""The value of `--innocent` without a name."""
_PARTIAL: Final = ("select", "profile", "level", "shard", "deliver", "faults")
"""The options that may leave out the only cases in which an answer can change."""
_MAX_CASES: Final = 5
"""The maximum number of cases listed per innocent without `-v`."""


def print_innocents() -> None:
    """Print each innocent's name, its description and the first sentence that grants its freedom."""
    for innocent in INNOCENTS.values():
        click.echo(f"{innocent.name}: {innocent.description}")


def check_innocents(names: Sequence[str], arguments: Mapping[str, Any], seconds: float) -> Exit:
    """Judge the innocents in `names`, print a line for each, and return the exit code.

    Without a name, all run; the reference gets `seconds` per trial.
    """
    from streamconform_reference import adapter

    innocents = _find_innocents(names)
    settings = read_settings(arguments)
    selected = select(settings.selection).trials
    workers = settings.workers or count_default_workers()
    results = run_innocents(innocents, adapter, selected, workers, seconds)
    apis = [
        api for api in APIS if any(isinstance(trial, Trial) and trial.case.api == api for trial in selected)
    ]
    verdicts = {
        innocent.name: decide(
            innocent,
            results[innocent.name],
            # A small selection may lack the cases in which an answer can change.
            () if any(getattr(settings.selection, name) for name in _PARTIAL) else apis,
        )
        for innocent in innocents
    }
    for innocent in innocents:
        for line in _format_lines(
            innocent, results[innocent.name], verdicts[innocent.name], verbose=bool(arguments["verbose"])
        ):
            click.echo(line)
    if arguments["table"]:
        page = format_innocents(innocents, results, verdicts, apis)
        write_text(arguments["table"], page.rstrip("\n"))
    passed = sum(verdict.is_innocent for verdict in verdicts.values())
    answers = sum(sum(result.changed.values()) for result in results.values())
    click.echo(f"{passed} of {len(innocents)} innocents pass, with {answers:,} changed answers")
    return Exit.EXPECTED if passed == len(innocents) else Exit.UNEXPECTED


def _find_innocents(names: Sequence[str]) -> tuple[Innocent, ...]:
    named = [name for name in names if name != ALL]
    unknown = [name for name in named if name not in INNOCENTS]
    if unknown:
        hint = suggest(unknown[0], INNOCENTS) or "; `conform dev selftest --list --innocent` lists them"
        raise click.UsageError(f"no innocent `{unknown[0]}`{hint}")
    if named:
        return tuple(INNOCENTS[name] for name in dict.fromkeys(named))
    return tuple(INNOCENTS.values())


def _format_lines(
    innocent: Innocent, result: InnocentResult, verdict: InnocentVerdict, *, verbose: bool
) -> Iterator[str]:
    """Yield the line for an innocent, and one line for each check that it must not fail."""
    changed = sum(result.changed.values())
    musts, warnings = verdict.musts, verdict.warnings
    counts = f"{changed:>7,} answers changed, {len(musts):>4,} failed musts, {len(warnings):>4,} warnings"
    label = "GUILTY" if verdict.is_guilty else "IDLE" if verdict.idle_apis else "innocent"
    yield f"{label:<9} {innocent.name:<38} {counts}"
    if verdict.idle_apis:
        yield f"          idle on {', '.join(verdict.idle_apis)}: no answer changes there"
    yield from _list_checks(musts, "fails", verbose=verbose)
    if verbose or not innocent.may_warn:
        yield from _list_checks(warnings, "warns", verbose=verbose)


def _list_checks(checks: Sequence[FailedCheck], verb: str, *, verbose: bool) -> Iterator[str]:
    """Yield a line for each check, or without `verbose` for the first few checks of different cases."""
    if verbose:
        yield from (f"          {verb}: {describe_check(failed)}" for failed in checks)
        return
    by_case: dict[str, list[FailedCheck]] = {}
    for failed in checks:
        by_case.setdefault(failed.trial.partition("@")[0], []).append(failed)
    for failures in islice(by_case.values(), _MAX_CASES):
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        yield f"          {verb}: {describe_check(failures[0])}{more}"
    if len(by_case) > _MAX_CASES:
        yield f"          and {len(by_case) - _MAX_CASES} more cases; -v lists every check"
