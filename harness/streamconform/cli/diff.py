"""`conform diff BEFORE AFTER`: compare two results files."""

from __future__ import annotations

import click

from streamconform.cli import commands
from streamconform.reports import changes, write_text
from streamconform.reports.history import compare_results
from streamconform.reports.style import print_lines
from streamconform.reports.summary import is_inconsistent
from streamconform.run.exits import Exit
from streamconform.run.reading import read
from streamconform.run.run_folders import get_latest_results, resolve_results


@click.command("diff")
@click.argument("before")
@click.argument("after", required=False)
@click.option(
    "--format",
    "form",
    type=commands.Choice(("text", "markdown", "json")),
    default="text",
    show_default=True,
    help="Output format; markdown is for a comment on a pull request.",
)
@click.option("-v", "--verbose", count=True, help="With --format text: list every case for each cause.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are new failures.")
@click.pass_context
def command(
    ctx: click.Context, /, before: str, after: str | None, form: str, verbose: int, *, exit_zero: bool
) -> None:
    """Compare two results files: new, fixed, still failing, stale and gone trials, and changed verdicts.

    BEFORE and AFTER are results files or run folders; AFTER defaults to the latest run. Trials are matched by
    id and implementation; the versions of the implementation and the suite may differ. Stale means listed as
    a known failure but passing.

    \b
    conform diff main.jsonl                              the last run against the main branch
    conform diff main.jsonl pr.jsonl --format markdown   a comment: "3 fixed, 1 new, 0 stale"
    conform report jsonl=a.jsonl shard-*.jsonl           merge shards into one file first

    Exit codes: 0 no new failures, 1 new failures, 2 usage error or unreadable results, 4 trials are missing
    from a run that ended by itself.
    """
    before_path = resolve_results(before)
    earlier = read(before_path)  # first, because BEFORE may be missing too if there is no latest run
    after_path = get_latest_results() if after is None else resolve_results(after)
    runs = (earlier, read(after_path))
    history = compare_results(*runs)
    names = (str(before_path), str(after_path))
    match form:
        case "markdown":
            write_text("-", changes.render_markdown(history, names))
        case "json":
            write_text("-", changes.render_json(history, names))
        case _:
            print_lines(changes.render_text(history, verbose=bool(verbose)))
    for warning in changes.list_warnings(history, names):
        click.echo(f"warning: {warning}", err=True)
    if any(map(is_inconsistent, runs)):
        ctx.exit(Exit.BUG)
    if history.counts["new"] and not exit_zero:
        ctx.exit(Exit.UNEXPECTED)
