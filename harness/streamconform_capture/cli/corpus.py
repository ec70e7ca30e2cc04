"""`conform corpus`: pull recordings that other projects publish, for `conform compare`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from streamconform._version import __version__
from streamconform.cli import commands, options
from streamconform.plural import format_count
from streamconform.printable import escape_line

from streamconform_capture.corpus import cache
from streamconform_capture.corpus.sources import SOURCES, Source

cache_option: Final = options.cache_option("pulled recordings")
"""`--cache`, for the commands that read or write pulled recordings."""


@click.group("corpus", cls=commands.Group)
def command() -> None:
    """Pull recordings that other projects publish, for `compare`.

    \b
    conform corpus list                          sources, and which are pulled
    conform corpus pull mirascope                with pip, verified, to your cache folder
    conform compare mypkg --corpus mirascope

    Public projects ship their tests' cassettes in their source distributions. Your own pip fetches
    them, with your configuration. The archive must have the digest that this version of streamconform lists.
    Its streamed recordings are imported; none of its code is run. The archive is not part of streamconform.
    """


@command.command("pull")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@cache_option
def pull_command(names: tuple[str, ...], where: str | None) -> None:
    """Fetch sources and import their recordings; `all` means every source.

    A source that is already pulled is not changed. Exit codes: 0 pulled, 2 a source cannot be fetched or has
    a different digest.
    """
    # Imported here, because vcrpy imports every HTTP library that it finds.
    from streamconform_capture.corpus.pull import pull

    root = cache.locate_root(where)
    # A list, so that an unknown name is reported before the first source is fetched.
    chosen = SOURCES.values() if names == ("all",) else [cache.find_source(name) for name in names]
    for source in chosen:
        before = cache.read_pulled(root, source)
        if before is not None:
            click.echo(
                f"{source.name} {source.version} is already pulled: {before.folder}"
                f"{_describe_version(before, source)}"
            )
            continue
        click.echo(f"{source.name}: fetching {source.distribution} {source.version} with pip", err=True)
        with _progress_bar(source.name) as progress:
            pulled = pull(root, source, progress)
        for line in _summarize_pull(source, pulled):
            click.echo(line)


@command.command("list")
@click.option("--format", "shape", type=commands.Choice(["text", "json"]), default="text", show_default=True)
@cache_option
def list_command(shape: str, where: str | None) -> None:
    """List the sources, and the recordings pulled from each."""
    root = cache.locate_root(where)
    pulled = {source.name: cache.read_pulled(root, source) for source in SOURCES.values()}
    if shape == "json":
        documents = [_source_to_json(source, pulled[source.name]) for source in SOURCES.values()]
        click.echo(json.dumps(documents, indent=1, ensure_ascii=False))
        return
    rows = [
        (source.name, source.version, source.licence, _describe_pulled(pulled[source.name]))
        for source in SOURCES.values()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        click.echo("  ".join([*(f"{row[n]:<{widths[n]}}" for n in range(3)), row[3]]))
    count = sum(source is not None for source in pulled.values())
    click.echo(f"{format_count(len(rows), 'source')}, {count} pulled to {root}", err=True)


@command.command("drop")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@cache_option
def drop_command(names: tuple[str, ...], where: str | None) -> None:
    """Delete pulled sources."""
    root = cache.locate_root(where)
    for source in [cache.find_source(name) for name in names]:
        dropped = cache.drop(root, source)
        click.echo(f"{source.name} {source.version}: {'dropped' if dropped else 'was not pulled'}")


def _summarize_pull(source: Source, pulled: cache.PulledSource) -> Iterator[str]:
    """Yield the number of recordings per API, and the reasons why others were not imported."""
    total = format_count(sum(pulled.recordings.values()), "recording")
    yield f"{source.name} {source.version} ({source.licence}): {total} in {pulled.folder}"
    for api, number in pulled.recordings.items():
        yield f"  {number:>5}  {api}"
    if pulled.left:
        yield f"not imported: {sum(pulled.left.values())}"
    for reason, number in pulled.left.items():
        yield f"  {number:>5}  {escape_line(reason, 120)}"


def _describe_version(pulled: cache.PulledSource, source: Source) -> str:
    """Return advice if the recordings were imported by a different version of streamconform."""
    if pulled.by == __version__:
        return ""
    return (
        f" (imported by streamconform {pulled.by}; run `conform corpus drop {source.name}` and pull it again)"
    )


def _describe_pulled(pulled: cache.PulledSource | None) -> str:
    if pulled is None:
        return "not pulled"
    return ", ".join(f"{number} {api}" for api, number in pulled.recordings.items())


def _source_to_json(source: Source, pulled: cache.PulledSource | None) -> Mapping[str, Any]:
    return {
        "name": source.name,
        "distribution": source.distribution,
        "version": source.version,
        "sha256": source.sha256,
        "licence": source.licence,
        "apis": source.apis,
        "note": source.note,
        "pulled": None
        if pulled is None
        else {
            "folder": str(pulled.folder),
            "by": pulled.by,
            "recordings": dict(pulled.recordings),
            "not_imported": dict(pulled.left),
        },
    }


@contextmanager
def _progress_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with (files done, total files); on a terminal, stderr shows a progress bar."""
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
