"""`conform lint`: check specs and cassettes; each problem is `path:line: message`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import click

from streamconform.cli import options
from streamconform.config import read_settings
from streamconform.errors import Problem
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.reports.style import StyledLine, print_lines
from streamconform.run.exits import Exit, select_exit
from streamconform.suite.kinds import FILE, Kinds, find_empty, read_kinds
from streamconform.suite.lint import is_cassette, lint_all, lint_paths
from streamconform.suite.lint_shapes import lint_shapes
from streamconform.suite.load import Sources, collect, list_spec_files
from streamconform.suite.selection import find_sources
from streamconform_capture.compare import inputs
from streamconform_capture.drift.find import find_drift
from streamconform_capture.drift.known import collect_known
from streamconform_capture.drift.report import WIDTH, format_lines
from streamconform_capture.record.committed import list_files, start_scan

GROUNDS: Final = {
    "seen": "match real streams",
    "documented": "match only with the provider's types",
    "explained": "need an explanation in specs/shapes",
}


@click.command("lint")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@options.sources_options
@click.option(
    "--strict/--no-strict",
    default=False,
    help="Also reject drafts, cases without tags, `must` without evidence, `guards` without a thread, and,"
    " without PATHS, APIs for which no mutant has a kind of bug.",
)
@click.option(
    "--shapes",
    is_flag=True,
    help="Instead, compare the fields and event order of authored streams with those of real ones; with"
    " PATHS, list what is new to the suite in the recordings in these folders.",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="FIELD|FINGERPRINT",
    help="Ignore a possible secret. Repeatable. [default: `allow` in the config]",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    paths: tuple[Path, ...],
    strict: bool,  # noqa: FBT001
    shapes: bool,  # noqa: FBT001
    **arguments: Any,
) -> None:
    """Check specs and cassettes; without PATHS, all of them.

    A path is a spec, a cassette's YAML file, or a folder of specs. Problems are printed as `path:line:
    message`, and the exit code is 2. Keys, tokens, addresses and account numbers in the files also count as
    problems, even if encoded or split.

    \b
    conform lint my-specs                    your own specs
    conform lint --shapes recordings         what recordings have that is new to the suite (docs/drift.md)

    With --shapes and PATHS, the exit code is 1 if something is new, or 2 if a recording was not read.
    """
    settings = read_settings(arguments)
    sources = find_sources(settings.selection)
    if shapes:
        if paths:
            ctx.exit(_find_drift(sources, paths))
        _lint_shapes(ctx, sources)
        return
    # Started first, so that another process scans the files while this one lints.
    wait_for_secrets = start_scan(list_files(paths, sources), settings.allow)
    if paths:
        cases, problems = lint_paths(paths, sources, strict=strict)
    else:
        cases, problems = lint_all(sources, strict=strict)
        if strict and not problems and (sources.specs / FILE).exists():
            problems += find_empty_cells(read_kinds(sources.specs))
    problems += wait_for_secrets()
    tapes = sum(map(is_cassette, paths))
    checked = [format_count(cases, "case")] if cases or not tapes else []
    checked += [format_count(tapes, "cassette")] if tapes else []
    _show(ctx, problems, ", ".join(checked))


def find_empty_cells(kinds: Kinds) -> list[Problem]:
    """Return a problem for each API and path in which no mutant has a kind of bug, and nothing excludes it.

    Whether a case catches the mutant there is what the self-test shows.
    """
    from streamconform_mutants import MUTANTS

    asked = {
        (mutant.kind, api, path)
        for mutant in MUTANTS.values()
        for api in mutant.adapter.apis
        for path in mutant.paths
    }
    return [*find_empty(kinds, asked)]


def _find_drift(sources: Sources, paths: tuple[Path, ...]) -> Exit:
    read = [inputs.read(str(path), (), None) for path in paths]
    cases = [case for folder in read for case in folder.cases]
    drift = find_drift(
        cases,
        {api: collect_known(sources, api) for api in {case.api for case in cases}},
        ((file.file, file.reason) for folder in read for file in folder.unread),
    )
    for line in format_lines(drift):
        click.echo(escape_line(line, WIDTH))
    return select_exit(
        Exit.UNEXPECTED if drift.novelties else Exit.EXPECTED, Exit.USAGE if drift.unread else Exit.EXPECTED
    )


def _lint_shapes(ctx: click.Context, sources: Sources) -> None:
    loaded = collect(sources, list_spec_files(sources.specs, recorded=True))
    report = lint_shapes(sources, loaded)
    counts = ", ".join(
        f"{report.streams[ground]:,} {words}"
        for ground, words in GROUNDS.items()
        if report.streams.get(ground)
    )
    total = format_count(sum(report.streams.values()), "authored stream")
    _show(ctx, [*loaded.problems, *report.problems], f"{total} ({counts})")


def _show(ctx: click.Context, problems: Iterable[Problem], checked: str) -> None:
    problems = list(dict.fromkeys(problems))  # PATHS may name both a spec and its cassette
    print_lines(StyledLine(str(problem)) for problem in problems)
    if problems:
        click.echo(format_count(len(problems), "problem"), err=True)
        ctx.exit(Exit.USAGE)
    click.echo(f"{checked}, no problems", err=True)
