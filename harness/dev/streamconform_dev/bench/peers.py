"""What installed peers spend on the bench's streams: the same bytes, over HTTP from the replay server.

Measured is the processor time of the peer's process, so it includes the library's HTTP client, and what its
adapter does with the library's objects. What a request costs even if its answer is tiny is taken off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import psutil

from streamconform.adapters.connect import connect
from streamconform.adapters.feed import Feed
from streamconform.adapters.interface import Observation
from streamconform.adapters.program import Program
from streamconform.apis import APIS
from streamconform.model.case import NOTHING_EXPECTED, Case
from streamconform.model.trial import AS_IS, Delivered, Trial
from streamconform.replay.server import ReplayServer
from streamconform.resources import find_bundled
from streamconform.suite.cassettes import load
from streamconform_dev.bench.floor import FLOORS
from streamconform_dev.bench.measure import spent_on
from streamconform_dev.bench.streams import Kind, stream
from streamconform_peers.environments import get_environments_folder, read_environment
from streamconform_peers.table import PEERS, Peer

SECONDS: Final = 120.0
"""Time for one answer."""
WARM_UP: Final = 2
"""First answers, which load modules and are compiled."""
TINY: Final = 2
"""Deltas of the answer whose time is taken off."""


@dataclass(frozen=True, slots=True)
class PeerTime:
    """Processor time of one peer for one stream, in nanoseconds; None if it did not read it to its end."""

    peer: str
    release: str
    api: str
    kind: Kind
    spent: int | None
    floor: int

    @property
    def ratio(self) -> float | None:
        """Return how many times the floor the peer takes."""
        return None if self.spent is None else self.spent / self.floor


def list_installed() -> list[Peer]:
    """Return the peers that are installed on this machine."""
    folder = get_environments_folder()
    return [peer for peer in PEERS.values() if read_environment(folder, peer) is not None]


def measure_peers(kinds: tuple[Kind, ...], *, deltas: int, size: int, runs: int) -> Iterator[PeerTime]:
    """Yield what each installed peer takes for a text or a call of each of its APIs, the least of `runs`."""
    for peer in list_installed():
        for api in peer.apis:
            for kind in kinds:
                frames = stream(api, kind, deltas=deltas, size=size)
                body = b"".join(frames)
                floor = min(spent_on(partial(FLOORS[api], [body])) for _ in range(9))
                spent = asyncio.run(_measure(peer, api, kind, frames, size, runs))
                yield PeerTime(peer.name, f"{peer.distribution} {peer.version}", api, kind, spent, floor)


async def _measure(peer: Peer, api: str, kind: Kind, frames: list[bytes], size: int, runs: int) -> int | None:
    long, tiny = _make_trial(api, frames), _make_trial(api, stream(api, kind, deltas=TINY, size=size))
    program = Program(connect(f"peer:{peer.name}"))
    try:
        await program.start(SECONDS)
        async with ReplayServer() as server:
            pairs = []
            for _ in range(WARM_UP + runs):
                spent = [await _spend(program, server, trial) for trial in (tiny, long)]
                if None in spent:
                    return None
                pairs.append(spent)
            base, whole = (min(times) for times in zip(*pairs[WARM_UP:], strict=True))
            return max(int(whole - base), 0)
    finally:
        await program.stop()


async def _spend(program: Program, server: ReplayServer, trial: Trial) -> int | None:
    """Return the nanoseconds of the processor that all processes of the program spend on a trial."""
    before = _used()
    with server.exchange(trial) as exchange:
        answer = await program.run(trial, SECONDS, events=False, feed=Feed("http", exchange.base_url))
    await asyncio.sleep(0.02)  # what a runtime does after its answer, such as collecting garbage
    whole = isinstance(answer, Observation) and answer.outcome.get("status") == "complete"
    return _used() - before if whole else None


def _used() -> int:
    times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return int(1e9 * sum(each.user + each.system for each in times))


def _make_trial(api: str, frames: list[bytes]) -> Trial:
    base = load(find_bundled("cassettes"), api, APIS[api].smoke.call_cassette)
    body = b"".join(frames)
    cassette = replace(base, body=body, marks=(), twin=None)
    case = Case(
        id=f"{api}/bench/{len(body)}", api=api, title="bench", cassette=cassette, expect=NOTHING_EXPECTED
    )
    return Trial(case, AS_IS, "must", Delivered((body,)))
