"""Fetch recordings that other projects publish: for `conform run --recorded` and `conform compare`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from streamconform.cli import options
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform_capture.corpus import cache
from streamconform_capture.corpus.sources import SOURCES, Source

cache_option: Final = options.cache_option("pulled recordings")
"""`--cache`, for the commands that read or write pulled recordings."""


def pull_missing(
    names: Collection[str] = tuple(SOURCES), where: str | None = None, *, agreed: bool = False
) -> None:
    """Fetch the sources in `names` that are not in the cache, and import their recordings.

    Unless the user has agreed, a question is asked on a terminal, and nothing is fetched elsewhere. The
    user's own pip fetches the archives, with its configuration; each must have the digest that this version
    of streamconform lists, and none of its code is run.

    Raises `PullFailed` if a source cannot be fetched or has another digest.
    """
    root = cache.locate_root(where)
    missing = [source for name in names if cache.read_pulled(root, source := SOURCES[name]) is None]
    if not missing or not (agreed or _ask(missing)):
        return
    # Imported here, because vcrpy imports every HTTP library that it finds.
    from streamconform_capture.corpus.pull import pull

    for source in missing:
        click.echo(f"{source.name}: fetching {source.distribution} {source.version} with pip", err=True)
        with _progress_bar(source.name) as progress:
            pulled = pull(root, source, progress)
        for line in _summarize_pull(source, pulled):
            click.echo(line, err=True)


def _ask(missing: list[Source]) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    what = missing[0].name if len(missing) == 1 else format_count(len(missing), "source")
    return click.confirm(
        f"The recordings of {what} were not fetched yet. Fetch them with pip (docs/recorded.md)?", err=True
    )


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


@contextmanager
def _progress_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with (files done, total files); on a terminal, stderr shows a progress bar."""
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
