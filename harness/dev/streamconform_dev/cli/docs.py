"""`conform dev docs`: regenerate the generated parts of the documentation."""

from __future__ import annotations

import click

from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.generators import GENERATORS, Generator


def _describe(generator: Generator) -> str:
    return f"  {generator.name:12}{generator.writes}{' (takes minutes)' if generator.slow else ''}"


@click.command("docs", epilog="\b\n" + "\n".join(_describe(each) for each in GENERATORS.values()))
@click.argument("names", nargs=-1, metavar="[NAME...]", type=click.Choice([*GENERATORS]))
@click.option("--fast", is_flag=True, help="Leave out those that take minutes.")
def command(names: tuple[str, ...], *, fast: bool) -> None:
    """Regenerate the outputs and tables in the documentation, and the golden files of reports.

    Without NAME, everything is regenerated. Only files that change are written; times in outputs do not
    count.
    """
    for generator in (GENERATORS[name] for name in names or GENERATORS):
        if fast and generator.slow:
            continue
        click.echo(f"{generator.name}: {generator.writes}")
        for path in generator.write():
            click.echo(f"  wrote {path.relative_to(ROOT)}")
