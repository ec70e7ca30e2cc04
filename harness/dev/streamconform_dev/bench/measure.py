"""Measure CPU time as the shortest of several runs; compared functions alternate in one process."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

from streamconform_dev.bench.floor import FLOORS
from streamconform_dev.bench.streams import CHUNKINGS, Kind, stream
from streamconform_reference import DECODERS, Event, Outcome


@dataclass(frozen=True, slots=True)
class Timed:
    """One stream, delivered in one way. Times are in nanoseconds."""

    api: str
    kind: Kind
    chunking: str
    size: int
    """Bytes of the body."""
    deltas: int
    floor: int
    reference: int

    @property
    def ratio(self) -> float:
        """Return the ratio of the reference's time to the floor."""
        return self.reference / self.floor

    @property
    def per_delta(self) -> float:
        """Return the reference's time per delta, in nanoseconds."""
        return self.reference / self.deltas


def reference(api: str, chunks: list[bytes]) -> tuple[list[Event], Outcome]:
    """Return the events and the outcome of a body."""
    decoder = DECODERS[api]()
    events: list[Event] = []
    for chunk in chunks:
        events += decoder.receive_data(chunk)
    events += decoder.receive_eof()
    return events, decoder.outcome


def timed(api: str, kind: Kind, chunking: str, *, deltas: int, size: int, runs: int) -> Timed:
    """Return the shortest times of `runs` runs for one stream; floor and reference alternate.

    Garbage is collected before each run, but not during it: as in a client, the events of an answer live as
    long as the answer does.
    """
    frames = stream(api, kind, deltas=deltas, size=size)
    chunks = CHUNKINGS[chunking](frames)
    pairs = [
        (spent_on(lambda: FLOORS[api](chunks)), spent_on(lambda: reference(api, chunks))) for _ in range(runs)
    ]
    floors, references = zip(*pairs, strict=True)
    return Timed(api, kind, chunking, sum(map(len, frames)), deltas, min(floors), min(references))


def spent_on(work: Callable[[], object]) -> int:
    """Return the CPU time of one run in nanoseconds, without garbage collection."""
    gc.collect()
    gc.disable()
    try:
        start = time.thread_time_ns()
        kept = work()
        took = time.thread_time_ns() - start
    finally:
        gc.enable()
    del kept
    return took
