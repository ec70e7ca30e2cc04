"""`conform dev bench`: measure how fast the reference, the installed peers and the suite are."""

from __future__ import annotations

import click

from streamconform_dev.bench import page
from streamconform_dev.bench.tables import FULL, PAGE, PLOT, tables


@click.command("bench")
@click.option("--write", is_flag=True, help="Write docs/benchmarks/README.md and its plot.")
def command(*, write: bool) -> None:
    """Measure how fast the reference, the installed peers and the suite are."""
    click.echo(page.machine())
    sections = []
    for section in tables(FULL):
        sections.append(section)
        click.echo(f"\n{section.heading}\n\n{section.table}")
    if write:
        PAGE.write_text(page.page({section.heading: section.table for section in sections}), "utf-8")
        for section in sections:
            if section.plot:
                PLOT.write_text(section.plot, "utf-8")
