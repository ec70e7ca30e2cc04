"""The sections of `docs/benchmarks/README.md`, measured one after another."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from streamconform_dev.bench import commands, page
from streamconform_dev.bench.groups import shares
from streamconform_dev.bench.measure import Timed, reference, timed
from streamconform_dev.bench.memory import measure_memory
from streamconform_dev.bench.peers import measure_peers
from streamconform_dev.bench.plot import draw
from streamconform_dev.bench.ratios import measure_ratios
from streamconform_dev.bench.recorded import measure_recordings
from streamconform_dev.bench.streams import APIS, CHUNKINGS, Kind, stream
from streamconform_dev.checkout import ROOT

PAGE: Final = ROOT / "docs" / "benchmarks" / "README.md"
PLOT: Final = PAGE.with_name("peers.svg")


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
    peers: int
    """The number of deltas of a stream for installed peers; 0 leaves them out."""
    body: int
    """The size in bytes of the bodies whose memory is measured; 0 leaves them out."""


FULL: Final = Scale(
    2000, 10_000, (50_000, 200_000, 800_000, 3_200_000), runs=9, suites=1, peers=2000, body=32 << 20
)
LONG: Final = 4096
"""The size in bytes of a recording in which the start and the end of the answer hardly count."""
WHOLE: Final = 1 << 30
"""More than the bytes of any recording."""
KINDS: Final[tuple[Kind, ...]] = ("text", "tool call")


class Section(NamedTuple):
    """One part of the page."""

    heading: str
    table: str
    plot: str = ""
    """An SVG; the page has one."""


def tables(scale: Scale) -> Iterator[Section]:
    """Yield each section as soon as it is measured."""
    deltas = {"text": scale.text, "tool call": scale.call}
    rows = [
        timed(api, kind, chunking, deltas=deltas[kind], size=page.CHARACTERS, runs=scale.runs)
        for api in APIS
        for kind in KINDS
        for chunking in CHUNKINGS
    ]
    yield Section(f"Reference to floor (limit: {page.LIMIT} times)", page.streams(rows))
    recorded = list(measure_recordings(scale.runs))
    if recorded:
        yield Section("Recordings", page.recordings(recorded))
        long = measure_recordings(scale.runs, chunk=WHOLE, least=LONG)
        yield Section("Recordings of at least 4 KiB, in one chunk", page.recordings(long))
    yield Section("Nanoseconds per delta, by size of the answer", page.sizes(list(_growing(scale))))
    if scale.body:
        yield Section("Memory for bodies of very short lines", page.memory(measure_memory(scale.body)))
    yield Section("Where the time goes", page.profile(_profiles(scale)))
    if scale.peers:
        times = list(measure_peers(KINDS, deltas=scale.peers, size=page.CHARACTERS, runs=3))
        bars = [
            (f"{row.peer}, {row.api}", row.ratio)
            for row in times
            if row.kind == "text" and row.ratio is not None
        ]
        yield Section("Peers", page.peers(times), draw(bars, "Processor time for a text, times the floor"))
    if scale.suites:
        yield Section("What the harness adds", page.ratios(measure_ratios(3)))
        with tempfile.TemporaryDirectory() as folder:
            whole = commands.suite(scale.suites, Path(folder))
        yield Section("Commands", page.commands(commands.help_ratio(scale.runs), whole))


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
        found[api] = shares(partial(reference, api, chunks))
    return found
