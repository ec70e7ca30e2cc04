"""Floor and reference on the recordings in the folder that STREAMCONFORM_CORPUS names."""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streamconform_dev.bench.floor import FLOORS
from streamconform_dev.bench.measure import reference
from streamconform_dev.corpus.captures import streams

CHUNK: Final = 4096
"""Bytes of a chunk, as most clients read them."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """All recordings of one API; times are in nanoseconds."""

    api: str
    count: int
    size: int
    """Bytes of all bodies."""
    floor: int
    reference: int

    @property
    def ratio(self) -> float:
        """Return how many times the floor the reference takes."""
        return self.reference / self.floor


def measure_recordings(runs: int, *, chunk: int = CHUNK, least: int = 0) -> Iterator[Recorded]:
    """Yield the times of each API: for each recording the least of `runs`, floor and reference in turn.

    Recordings of fewer than `least` bytes are left out; the others are read in chunks of `chunk` bytes.
    """
    found = defaultdict(list)
    for case in streams():
        # The floor reads only LF line ends.
        body = case.cassette.body.replace(b"\r\n", b"\n")
        chunks = [body[start : start + chunk] for start in range(0, len(body), chunk)]
        if len(body) >= least and _is_read_by_the_floor(case.api, chunks):
            found[case.api].append((len(body), *_measure(case.api, chunks, runs)))
    for api in FLOORS:
        if api in found:
            size, floor, taken = map(sum, zip(*found[api], strict=True))
            yield Recorded(api, len(found[api]), size, floor, taken)


def _is_read_by_the_floor(api: str, chunks: list[bytes]) -> bool:
    try:
        return FLOORS[api](chunks) > 0
    except (ValueError, KeyError, TypeError):  # comments, arrays, other framings
        return False


def _measure(api: str, chunks: list[bytes], runs: int) -> tuple[int, int]:
    floors, references = [], []
    gc.disable()
    try:
        for _ in range(runs):
            start = time.thread_time_ns()
            FLOORS[api](chunks)
            between = time.thread_time_ns()
            kept = reference(api, chunks)
            references.append(time.thread_time_ns() - between)
            floors.append(between - start)
            del kept
    finally:
        gc.enable()
    return min(floors), min(references)
