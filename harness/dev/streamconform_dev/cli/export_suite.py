"""`conform dev export-suite`: write the suite as one file per API."""

from __future__ import annotations

from pathlib import Path

import click

from streamconform.run.workers import count_default_workers
from streamconform.suite.build import COMMON
from streamconform.suite.selection import SelectionSettings, find_sources
from streamconform_dev.artifact import group_cases, write_suite
from streamconform_dev.judges.files import record_answers, write_answers


@click.command("export-suite")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--answers", is_flag=True, help="Also record answers, for tests of judges: takes minutes.")
@click.option("-n", "--workers", type=click.IntRange(min=1), help="Number of parallel workers.")
def command(folder: Path, *, answers: bool, workers: int | None) -> None:
    """Write `suite-<api>.json.gz` into FOLDER for every API: its cases and trials, with bytes and cuts.

    With --answers, also `answers-<api>.jsonl.gz`: answers, and what a judge must find in them.

    The files are the same on every machine. `conform schema suite.v1` describes them, and docs/vectors.md
    shows how to read them.
    """
    for api, cases in group_cases(find_sources(SelectionSettings())):
        paths = [write_suite(api, cases, folder)]
        if answers and api != COMMON:
            recorded = record_answers(cases, workers or count_default_workers())
            paths.append(write_answers(api, recorded, folder))
        for path in paths:
            click.echo(f"{path.name}  {path.stat().st_size} bytes")
