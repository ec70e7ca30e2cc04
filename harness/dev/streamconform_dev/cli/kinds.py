"""`conform dev kinds`: show the kinds of bugs by API and path."""

from __future__ import annotations

import click

from streamconform.plural import format_count
from streamconform.resources import find_bundled
from streamconform.run.exits import Exit
from streamconform.suite.kinds import read_kinds
from streamconform_capture.cli.lint import find_empty_cells
from streamconform_dev.selftest.cells import count_cells, iter_lines, make_rows


@click.command("kinds")
@click.option("--empty", is_flag=True, help="List the empty cells instead, as `conform lint --strict` does.")
@click.pass_context
def command(ctx: click.Context, /, empty: bool) -> None:  # noqa: FBT001
    """Show which kinds of bugs the suite asks of which API, on which path.

    Each column is an API; its marks are for streams, for answers that do not stream and for requests. `+`:
    a broken parser with such a bug is caught there, as `conform dev selftest` proves. `-`: specs/kinds.yaml
    names what rules the kind out. `?`: neither.

    Exit code 1: a cell is empty.
    """
    from streamconform_mutants import MUTANTS

    kinds = read_kinds(find_bundled("specs"))
    rows = make_rows(kinds, MUTANTS.values())
    counts = count_cells(rows)
    if empty:
        for problem in find_empty_cells(kinds):
            click.echo(str(problem))
    else:
        for line in iter_lines(kinds, rows):
            click.echo(line)
        asked = f"{counts['asked']} cells asked, {counts['excluded']} excluded with a reason"
        click.echo(f"\n{format_count(len(rows), 'kind')}: {asked}, {counts['empty']} empty")
    ctx.exit(Exit.UNEXPECTED if counts["empty"] else Exit.EXPECTED)
