"""`conform dev judges`: compare the judges in other languages with the judge in Python."""

from __future__ import annotations

import shlex
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from streamconform.apis import NAMES
from streamconform.plural import format_count
from streamconform.run.exits import Exit
from streamconform.run.workers import count_default_workers
from streamconform.suite.selection import SelectionSettings, find_sources
from streamconform_dev.artifact import group_cases, write_suite
from streamconform_dev.judges.check import JudgeDifference, check_answers
from streamconform_dev.judges.files import read_answers, record_answers, write_answers
from streamconform_dev.judges.languages import CHECKERS, FOLDER, build_checker

MAX_SHOWN = 10
"""The maximum number of differences to list per API."""


@click.command("judges")
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--language",
    "languages",
    multiple=True,
    type=click.Choice([*CHECKERS]),
    help="Only the judge in this language. Repeatable.",
)
@click.option("--checker", metavar="COMMAND", help="Instead, a program of yours that reads answers.")
@click.option("--api", "apis", multiple=True, type=click.Choice(NAMES), help="Only this API. Repeatable.")
@click.option("--full", is_flag=True, help="Record every mutant in every trial, and every damage: hours.")
@click.option("-n", "--workers", type=click.IntRange(min=1), help="Number of parallel workers.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    folder: Path | None,
    languages: tuple[str, ...],
    checker: str | None,
    apis: tuple[str, ...],
    full: bool,  # noqa: FBT001
    workers: int | None,
) -> None:
    """Compare the judges in other languages with the judge in Python, check by check.

    Records the answers of the reference, the mutants and the innocents, and damaged answers; or reads those
    in FOLDER, which `conform dev export-suite --answers` wrote.

    Exit code 1: a judge differs.
    """
    selected = apis or NAMES
    programs: dict[str, tuple[Sequence[str], Path]]
    if checker is None:
        programs = {name: (build_checker(name), FOLDER / name) for name in languages or CHECKERS}
    else:
        programs = {"checker": (shlex.split(checker), Path.cwd())}
    with tempfile.TemporaryDirectory() as temporary:
        if folder is None:
            folder = Path(temporary)
            for api, cases in group_cases(find_sources(SelectionSettings())):
                if api in selected:
                    write_suite(api, cases, folder)
                    recorded = record_answers(cases, workers or count_default_workers(), full=full)
                    write_answers(api, recorded, folder)
        found = sum(
            _check(name, program, place, folder, selected) for name, (program, place) in programs.items()
        )
    ctx.exit(Exit.UNEXPECTED if found else Exit.EXPECTED)


def _check(name: str, program: Sequence[str], place: Path, folder: Path, apis: Sequence[str]) -> int:
    """Print how a judge differs, and return the number of differences."""
    count = answers = 0
    for api in apis:
        lines = read_answers(folder / f"answers-{api}.jsonl.gz")
        differences = check_answers(program, place, folder / f"suite-{api}.json.gz", lines)
        _print_differences(differences)
        count += len(differences)
        answers += len(lines)
    click.echo(f"{name}: {format_count(count, 'difference')} in {format_count(answers, 'answer')}")
    return count


def _print_differences(differences: Sequence[JudgeDifference]) -> None:
    groups = Counter(difference.group for difference in differences)
    for group, count in groups.most_common():
        click.echo(f"{count:>7} {group}")
    for difference in differences[:MAX_SHOWN]:
        click.echo(
            f"  {difference.trial} {difference.path}: expected {difference.expected}, got {difference.got}"
        )
