"""`conform lint`: specs and cassettes, every problem as `path:line: message`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streamconform.cli import options
from streamconform.run.exits import Exit
from streamconform.suite.lint import lint_all, lint_paths


@click.command("lint")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@options.sources_options
@click.option("--strict/--no-strict", default=False, help="Refuse drafts, and cases without sources or tags.")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[Path, ...], strict: bool, **given: Any) -> None:  # noqa: FBT001
    """Check specs and cassettes; without PATHS all of them.

    A path is a spec, a cassette's YAML file, or a folder of specs. Problems are printed as
    `path:line: message`, and the exit code is 2.
    """
    sources = options.sources(options.settings(given))
    if paths:
        cases, problems = lint_paths(paths, sources, strict=strict)
    else:
        cases, problems = lint_all(sources, strict=strict)
    problems = list(dict.fromkeys(problems))  # a spec and its cassette can both be among the paths
    for problem in problems:
        click.echo(str(problem))
    if problems:
        click.echo(f"{len(problems)} problem{'s' if len(problems) > 1 else ''}", err=True)
        ctx.exit(Exit.USAGE)
    click.echo(f"{cases} cases, no problems", err=True)
