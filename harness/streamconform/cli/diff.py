"""`conform diff BEFORE AFTER`: what fails that did not, and what does not any more."""

from __future__ import annotations

from pathlib import Path

import click

from streamconform.reports import changes, write_text
from streamconform.reports.history import compare
from streamconform.reports.style import show
from streamconform.run.exits import Exit
from streamconform.run.reading import read


@click.command("diff")
@click.argument("before")
@click.argument("after", default=".conform/results.jsonl")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "markdown", "json")),
    default="text",
    show_default=True,
    help="What is printed; markdown is for a comment on a pull request.",
)
@click.option("-v", "--verbose", count=True, help="With text: every case of a cause.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 where something is new, too.")
@click.pass_context
def command(
    ctx: click.Context, /, before: str, after: str, form: str, verbose: int, *, exit_zero: bool
) -> None:
    """Compare two results: new failures, fixed, still failing, stale, gone, and other verdicts.

    BEFORE and AFTER are results files, AFTER by default .conform/results.jsonl. Trials are the same by id
    and implementation; the implementation may be another version, the suite too.

    \b
    conform diff main.jsonl                              the last run beside the main branch's
    conform diff main.jsonl pr.jsonl --format markdown   a comment: "3 fixed, 1 new, 0 stale"
    conform report jsonl=a.jsonl shard-*.jsonl           shards become one file first

    Exit codes: 0 nothing new, 1 new failures, 2 usage, or results that cannot be read.
    """
    history = compare(read(Path(before)), read(Path(after)))
    names = (before, after)
    match form:
        case "markdown":
            write_text("-", changes.markdown(history, names))
        case "json":
            write_text("-", changes.document(history, names))
        case _:
            show(changes.text(history, verbose=bool(verbose)))
    for why in changes.warnings(history, names):
        click.echo(f"warning: {why}", err=True)
    if history.counts["new"] and not exit_zero:
        ctx.exit(Exit.UNEXPECTED)
