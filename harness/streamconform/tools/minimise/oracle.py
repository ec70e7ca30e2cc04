"""Decide whether a smaller stream is legal and fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from streamconform.adapters.connect import Connection
from streamconform.adapters.program import Collateral, Program
from streamconform.apis import APIS
from streamconform.judge.judge import Judgement, judge
from streamconform.model.cassette import Cassette
from streamconform.model.trial import Trial
from streamconform.model.verdict import Check
from streamconform.replay.server import ReplayServer
from streamconform.run.blame import Blame, load_snapshots
from streamconform.run.dispatch import Dispatcher, apply_http_checks
from streamconform.run.plan import ImplementationPlan
from streamconform.suite import expectation
from streamconform.tools.minimise.edits import forget
from streamconform.tools.minimise.expected import Read, decode_by_reference, expect
from streamconform.tools.minimise.failure_signature import FailureSignature, collect_signatures
from streamconform.tools.minimise.legality import broken_rules
from streamconform.tools.minimise.stream import Cuts, SplitStream, chunks_of
from streamconform.wire.framings import split

MAX_BODY = 4 * 1024 * 1024
"""Limit in bytes of a body to minimise: hundreds of candidates start at that size."""

REMEMBERED: Final = 32 * 1024 * 1024
"""Bytes of candidates after which what is remembered of their payloads is forgotten."""


class BudgetSpent(Exception):
    """The limit of trials or time is reached."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A smaller stream with its cassette, expectation and chunks."""

    stream: SplitStream
    trial: Trial
    expect: dict[str, Any]
    read: Read

    @property
    def frames(self) -> int:
        """Return how many frames it has."""
        return len(split(self.stream.framing, self.trial.body))

    def framewise(self) -> tuple[bytes, ...]:
        """Return the chunks that a cassette without marks has, which are its frames."""
        return chunks_of(self.trial.case.cassette, self.stream.framing, "recorded", self.stream)


@dataclass(slots=True)
class JudgedImplementation:
    """One implementation, by one program that is started again where it ends."""

    connection: Connection
    judged: ImplementationPlan
    timeout: float
    program: Program
    server: ReplayServer | None = None
    blame: Blame = field(default_factory=lambda: Blame(load_snapshots()))
    asker: Dispatcher | None = None

    async def judge(self, trial: Trial) -> Judgement:
        """Return the judgement on its answer; raises `ImplementationError` where it does not start."""
        if self.program.dead:
            await self.program.stop()
            self.program = Program(self.connection)
            await self.program.start()
        if self.asker is None:
            self.asker = Dispatcher(self.judged, self.blame.find_first_delta, self.server)
        answer, exchange = await self.asker.dispatch(self.program, trial, self.timeout)
        assert not isinstance(answer, Collateral), "only one run is in flight at a time"
        claims = self.judged.greeting.claims(trial.case.api)
        judgement = judge(trial, answer, claims, self.blame.find_first_delta)
        return judgement if exchange is None else apply_http_checks(judgement, exchange, answer)

    async def stop(self) -> None:
        """End its program."""
        await self.program.stop()


@dataclass(slots=True)
class SearchBudget:
    """The limits of a search, and the trials used."""

    max_trials: int
    seconds: float
    trials: int = 0
    began: float = field(default_factory=time.monotonic)

    def spend(self) -> None:
        """Count a trial; raises `BudgetSpent`."""
        self.look()
        if self.trials >= self.max_trials:
            raise BudgetSpent
        self.trials += 1

    def look(self) -> None:
        """Raise `BudgetSpent` where the time is over."""
        if time.monotonic() - self.began > self.seconds:
            raise BudgetSpent


@dataclass(slots=True)
class Oracle:
    """Decides whether a stream fails like the original one."""

    given: Trial
    ask: Callable[[Trial], Awaitable[Judgement]]
    budget: SearchBudget
    path: str = ""
    """The check that fails."""
    target: FailureSignature | None = None
    cuts: Cuts = "recorded"
    were_broken: frozenset[str] = frozenset()
    """The rules of the grammar that the stream broke which was given."""
    was: Read | None = None
    _read: int = 0
    _seen: dict[tuple[bytes, ...], bool] = field(default_factory=dict)

    def candidate(self, stream: SplitStream) -> Candidate | None:
        """Return `stream` as it would be kept; None where it is no stream of the api, or no legal one.

        Raises `BudgetSpent`.
        """
        self.budget.look()
        case = self.given.case
        body = stream.body
        self._read += len(body)
        if self._read > REMEMBERED:
            self._read = 0
            forget()
        if not body or APIS[case.api].detect_framing(case.cassette.status, body) != stream.framing:
            return None
        if self.was is not None and not self.broken_rules(stream) <= self.were_broken:
            return None
        cassette: Cassette = replace(case.cassette, body=body, marks=(), twin=None)
        read = decode_by_reference(cassette, case)
        if self.was is not None and not self.was.allows(read):
            return None
        expected = expect(read, body, case, self.path)
        smaller = replace(case, cassette=cassette, expect=expectation.parse(expected), skip=None)
        # how the bytes are changed is in the body already; gzip is done on the way
        name = self.given.delivery if self.given.delivery == "gzip" else "recorded"
        chunks = chunks_of(cassette, stream.framing, self.cuts, stream)
        trial = replace(self.given, case=smaller, delivery=name, chunks=chunks, derived=None)
        return Candidate(stream, trial, expected, read)

    def broken_rules(self, stream: SplitStream) -> frozenset[str]:
        """Return the rules of the grammar that `stream` breaks; none for a document, which has no grammar."""
        if stream.framing == "document":
            return frozenset()
        case = self.given.case
        return broken_rules(case.api, stream.body, case.cassette.request.body)

    async def judged(self, candidate: Candidate) -> dict[FailureSignature, Check | None]:
        """Return what is wrong with the implementation's answer; raises `BudgetSpent`."""
        self.budget.spend()
        return collect_signatures(await self.ask(candidate.trial))

    async def fails(self, candidate: Candidate) -> bool:
        """Return whether it fails like the original stream; results are cached. Raises `BudgetSpent`."""
        key = candidate.trial.chunks
        if key not in self._seen:
            self._seen[key] = self.target in await self.judged(candidate)
        return self._seen[key]
