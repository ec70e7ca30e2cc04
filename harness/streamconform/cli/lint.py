"""`conform lint`: check specs and cassettes; each problem is `path:line: message`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streamconform.cli import options
from streamconform.reports.describe import format_count
from streamconform.run.exits import Exit
from streamconform.suite.lint import lint_all, lint_paths


@click.command("lint")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@options.sources_options
@click.option(
    "--strict/--no-strict",
    default=False,
    help="Also reject drafts, cases without tags, each `must` without evidence, and bugs nobody looked up.",
)
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[Path, ...], strict: bool, **arguments: Any) -> None:  # noqa: FBT001
    """Check specs and cassettes; without PATHS, all of them.

    A path is a spec, a cassette's YAML file, or a folder of specs. Problems are printed as
    `path:line: message`, and the exit code is 2.
    """
    sources = options.find_sources(options.merge_settings(arguments))
    if paths:
        cases, problems = lint_paths(paths, sources, strict=strict)
    else:
        cases, problems = lint_all(sources, strict=strict)
    problems = list(dict.fromkeys(problems))  # PATHS may name both a spec and its cassette
    for problem in problems:
        click.echo(str(problem))
    if problems:
        click.echo(format_count(len(problems), "problem"), err=True)
        ctx.exit(Exit.USAGE)
    click.echo(f"{format_count(cases, 'case')}, no problems", err=True)
