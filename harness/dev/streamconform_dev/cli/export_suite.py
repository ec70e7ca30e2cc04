"""`conform dev export-suite`: write the suite as one file per API."""

from __future__ import annotations

from pathlib import Path

import click

from streamconform.suite.selection import SelectionSettings, find_sources
from streamconform_dev.artifact import write_suite


@click.command("export-suite")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def command(folder: Path) -> None:
    """Write `suite-<api>.json.gz` into FOLDER for every API: its cases and trials, with bytes and cuts.

    The files are the same on every machine. `conform schema suite.v1` describes them.
    """
    for path in write_suite(find_sources(SelectionSettings()), folder):
        click.echo(f"{path.name}  {path.stat().st_size} bytes")
