"""`conform dev site`: build the website into a folder; every page can be opened from disk."""

from __future__ import annotations

import time
from pathlib import Path

import click

from streamconform_dev.site.build import build_site


@click.command("site")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="dist/site",
    show_default=True,
    help="The folder; it is replaced.",
)
def command(out: Path) -> None:
    """Build the website into a folder; every page can be opened from disk."""
    started = time.monotonic()
    pages = build_site(out.resolve())
    click.echo(f"{pages:,} pages in {out}, {time.monotonic() - started:.1f} s")
