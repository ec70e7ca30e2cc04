"""Decode damaged streams with the reference, millions of times: `python -m streamconform_dev.fuzz.campaign`.

A stream is one of the suite's, or a recording in the folder that STREAMCONFORM_CORPUS names, damaged in its
frames, its JSON or its bytes. It is decoded whole, and then cut in other places. No decoding may raise or
hang, the events must follow the rules of the normal form, and the outcome must not depend on the cuts. With
the same streams the seed decides everything, so `--seed N --streams 1` repeats a failure.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Final

from streamconform.apis import NAMES
from streamconform.resources import find_bundled
from streamconform_capture.compare.inputs import read
from streamconform_capture.fuzz.mutate import mutate_body
from streamconform_dev.bench.measure import reference
from streamconform_dev.fuzz import chunkings
from streamconform_dev.fuzz.damage import damage_bytes
from streamconform_dev.fuzz.exchange import Answer, assert_event_rules

STREAMS: Final = frozenset({".sse", ".ndjson", ".eventstream"})
"""Suffixes of cassettes that are streams."""
LONGEST: Final = 2048
"""Bytes of a stream: longer ones have more frames of the same kinds, and leave time for fewer streams."""
CUTS: Final = 15
"""Further executions of each stream, each with other chunks."""
SECONDS: Final = 10
"""Time for all executions of a stream, which take milliseconds."""
SHORT: Final = 512
"""Bytes up to which a stream is also decoded byte by byte."""


@dataclass(slots=True)
class Tally:
    """What a campaign has done."""

    executions: Counter[str] = field(default_factory=Counter)
    """By API."""
    streams: Counter[str] = field(default_factory=Counter)
    """By kind of damage."""
    statuses: Counter[str] = field(default_factory=Counter)
    """Streams by status of the outcome."""
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another process has done."""
        self.executions += other.executions
        self.streams += other.streams
        self.statuses += other.statuses
        self.failures += other.failures


@cache
def material() -> Mapping[str, Sequence[bytes]]:
    """Return the bodies to damage, by API."""
    folder = os.environ.get("STREAMCONFORM_CORPUS")
    recorded = [
        (case.api, case.cassette.body)
        for case in (read(Path(folder), (), None).cases if folder else ())
        if case.stream and case.cassette.status < 400
    ]
    bundled = [
        (api, path.read_bytes())
        for api in NAMES
        for path in sorted((find_bundled("cassettes") / api).iterdir())
        if path.suffix in STREAMS
    ]
    bodies: dict[str, dict[bytes, None]] = {api: {} for api in NAMES}
    for api, body in (*bundled, *recorded):
        if 0 < len(body) <= LONGEST:
            bodies[api][body] = None
    return {api: tuple(found) for api, found in bodies.items()}


def damage(api: str, seed: int) -> tuple[str, bytes]:
    """Return the kind of damage and the damaged stream of a seed."""
    choice = random.Random(seed)  # noqa: S311 - a repeatable choice, not a secret
    bodies = material()[api]
    body = choice.choice(bodies)
    match choice.randrange(4):
        case 0 | 1:
            return "frames and JSON", mutate_body(api, body, str(seed))
        case 2:
            return "bytes", damage_bytes(body, choice)
        case _:
            other = choice.choice(bodies)
            joined = body[: choice.randint(0, len(body))] + other[choice.randint(0, len(other)) :]
            return "two streams joined", joined


def list_cuts(body: bytes, seed: int) -> Iterator[list[bytes]]:
    """Yield `CUTS` ways to cut the body."""
    choice = random.Random(seed)  # noqa: S311 - cuts, not secrets
    if len(body) <= SHORT:
        yield chunkings.bytewise(body)
    else:
        yield chunkings.at_random(body, seed)
    for _ in range(CUTS - 1):
        yield chunkings.at(body, [choice.randint(0, len(body)) for _ in range(choice.randint(1, 8))])


def check(api: str, seed: int) -> tuple[str, str]:
    """Return the kind of damage and the status of one stream. Raises what is wrong with its decoding."""
    kind, body = damage(api, seed)
    events, outcome = reference(api, [body])
    assert_event_rules(Answer([event.to_json() for event in events], outcome.to_json()))
    for chunks in list_cuts(body, seed):
        _, other = reference(api, chunks)
        if other != outcome:
            raise AssertionError(f"the outcome depends on the cuts {[len(chunk) for chunk in chunks]}")
    return kind, outcome.status


def run(seeds: range) -> Tally:
    """Check the streams of these seeds; each seed is of the next API."""
    tally = Tally()
    signal.signal(signal.SIGALRM, _raise_timeout)
    for seed in seeds:
        api = NAMES[seed % len(NAMES)]
        signal.alarm(SECONDS)
        try:
            kind, status = check(api, seed)
        except Exception as error:  # noqa: BLE001 - the campaign goes on, and reports all failures
            tally.failures.append(f"seed {seed}, {api}: {type(error).__name__}: {error}")
            continue
        finally:
            signal.alarm(0)
        tally.executions[api] += 1 + CUTS
        tally.streams[kind] += 1
        tally.statuses[status] += 1
    return tally


def _raise_timeout(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise TimeoutError(f"no outcome within {SECONDS} s")


def main(words: Sequence[str]) -> int:
    """Run a campaign and print its figures; returns 1 after a failure."""
    parser = argparse.ArgumentParser(prog="python -m streamconform_dev.fuzz.campaign", description=__doc__)
    parser.add_argument("--executions", type=int, default=100_000, help="how often to decode")
    parser.add_argument("--streams", type=int, help="how many streams to damage, instead of --executions")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    wanted = parser.parse_args(words)
    count = wanted.streams or -(-wanted.executions // (1 + CUTS))
    found = {api: len(bodies) for api, bodies in material().items()}
    sys.stdout.write(f"{sum(found.values())} streams of {len(found)} APIs; seeds {wanted.seed} and later\n")
    # Neighboring seeds are of different APIs, so that the processes have equal shares.
    end = wanted.seed + count
    shares = [
        range(wanted.seed + len(NAMES) * number + first, end, len(NAMES) * wanted.processes)
        for number in range(wanted.processes)
        for first in range(len(NAMES))
    ]
    started = time.monotonic()
    total = Tally()
    with multiprocessing.Pool(wanted.processes) as pool:
        for tally in pool.map(run, shares, chunksize=1):
            total.add(tally)
    lines = [
        f"{total.executions.total():,} executions in {time.monotonic() - started:,.0f} s",
        *(f"  {api}: {number:,}" for api, number in sorted(total.executions.items())),
        *(f"  {number:,} streams with damage to {kind}" for kind, number in sorted(total.streams.items())),
        *(f"  {number:,} streams end as {status}" for status, number in sorted(total.statuses.items())),
        f"{len(total.failures)} failures",
        *total.failures[:50],
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if total.failures else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
