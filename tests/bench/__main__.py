"""Measure everything and print the results; `--write` stores them in `docs/internals/benchmarks.md`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import commands, page
from .groups import shares
from .measure import Timed, reference, timed
from .streams import APIS, CHUNKINGS, Kind, stream

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "internals" / "benchmarks.md"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    text: int
    """Deltas of a text."""
    call: int
    """Deltas of a call."""
    sizes: tuple[int, ...]
    """The sizes, in characters, of the streams that show whether time grows linearly."""
    runs: int
    suites: int
    """The number of runs of the full suite; 0 leaves out the commands."""


FULL: Final = Scale(2000, 10_000, (50_000, 100_000, 200_000, 400_000, 800_000), runs=25, suites=2)
KINDS: Final[tuple[Kind, ...]] = ("text", "tool call")


def tables(scale: Scale) -> Iterator[tuple[str, str]]:
    """Yield each table with its heading, as soon as it is measured."""
    deltas = {"text": scale.text, "tool call": scale.call}
    rows = [
        timed(api, kind, chunking, deltas=deltas[kind], size=page.CHARACTERS, runs=scale.runs)
        for api in APIS
        for kind in KINDS
        for chunking in CHUNKINGS
    ]
    yield f"Reference to floor (limit: {page.LIMIT} times)", page.streams(rows)
    yield "Nanoseconds per delta, by size of the answer", page.sizes(list(_growing(scale)))
    yield "Where the time goes", page.profile(_profiles(scale))
    if scale.suites:
        with tempfile.TemporaryDirectory() as folder:
            whole = commands.suite(scale.suites, Path(folder))
        yield "Commands", page.commands(commands.help_ratio(scale.runs), whole)


def _growing(scale: Scale) -> Iterator[Timed]:
    for api in APIS:
        for kind in KINDS:
            for size in scale.sizes:
                count = size // page.CHARACTERS
                yield timed(
                    api, kind, "frame by frame", deltas=count, size=page.CHARACTERS, runs=scale.runs // 4 or 1
                )


def _profiles(scale: Scale) -> dict[str, dict[str, float]]:
    found = {}
    for api in APIS:
        chunks = stream(api, "text", deltas=scale.text, size=page.CHARACTERS)
        found[api] = shares(lambda api=api, chunks=chunks: reference(api, chunks))
    return found


def main(words: list[str]) -> None:
    """Print the tables; `--write` also writes the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    wanted = parser.parse_args(words)
    sys.stdout.write(f"{page.machine()}\n")
    found = {}
    for heading, table in tables(FULL):
        found[heading] = table
        sys.stdout.write(f"\n{heading}\n\n{table}\n")
        sys.stdout.flush()
    if wanted.write:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page.page(found), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
