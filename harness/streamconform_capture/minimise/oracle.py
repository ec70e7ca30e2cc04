"""Decide whether a smaller stream is valid and fails in the same way."""

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
from streamconform.model.trial import Delivered, Trial
from streamconform.model.verdict import Check
from streamconform.replay.server import ReplayServer
from streamconform.run.blame import Blame, load_snapshots
from streamconform.run.dispatch import Dispatcher, apply_http_checks
from streamconform.run.plan import ImplementationPlan
from streamconform.suite import expectation
from streamconform.wire.framings import split
from streamconform_capture.minimise.edits import clear_caches
from streamconform_capture.minimise.expected import ReferenceReading, build_expectation, decode_by_reference
from streamconform_capture.minimise.failure_signature import FailureSignature, collect_signatures
from streamconform_capture.minimise.legality import find_broken_rules
from streamconform_capture.minimise.stream import CutPolicy, SplitStream, make_chunks

MAX_BODY = 4 * 1024 * 1024
"""The maximum size of a body to minimise; hundreds of candidates are nearly as large as the body."""

MAX_CACHED: Final = 32 * 1024 * 1024
"""Whenever candidates have reached this total size, the caches of parsed payloads are cleared."""


class BudgetSpent(Exception):
    """The limit on trials or time has been reached."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A smaller stream, with its cassette, expectation and chunks."""

    stream: SplitStream
    trial: Trial
    expect: dict[str, Any]
    reading: ReferenceReading

    @property
    def frame_count(self) -> int:
        """Return the number of frames."""
        return len(split(self.stream.framing, self.trial.body))

    def split_framewise(self) -> tuple[bytes, ...]:
        """Return one chunk per frame, as for a cassette without chunk marks."""
        return make_chunks(self.trial.case, "as-is", self.stream)


@dataclass(slots=True)
class JudgedImplementation:
    """One implementation, run by one program that is restarted when it exits."""

    connection: Connection
    plan: ImplementationPlan
    timeout: float
    start_timeout: float
    program: Program
    server: ReplayServer | None = None
    blame: Blame = field(default_factory=lambda: Blame(load_snapshots()))
    dispatcher: Dispatcher | None = None

    async def judge(self, trial: Trial) -> Judgement:
        """Run a trial and judge its answer. Raises `ImplementationError` if the program cannot be started."""
        if self.program.dead:
            await self.program.stop()
            self.program = Program(self.connection)
            await self.program.start(self.start_timeout)
        if self.dispatcher is None:
            self.dispatcher = Dispatcher(self.plan, self.blame.find_first_delta, self.server)
        answer, server = await self.dispatcher.dispatch(self.program, trial, self.timeout)
        assert not isinstance(answer, Collateral), "only one run is in flight at a time"
        claims = self.plan.greeting.claims(trial.case.api)
        judgement = judge(trial, answer, claims, self.blame.find_first_delta)
        return judgement if server is None else apply_http_checks(judgement, trial, answer, server)

    async def stop(self) -> None:
        """Stop the program."""
        await self.program.stop()


@dataclass(slots=True)
class SearchBudget:
    """The limits of a search, and the number of trials used."""

    max_trials: int
    seconds: float
    trials: int = 0
    started: float = field(default_factory=time.monotonic)

    def spend(self) -> None:
        """Count a trial. Raises `BudgetSpent` if the limits do not allow another trial."""
        self.check_time()
        if self.trials >= self.max_trials:
            raise BudgetSpent
        self.trials += 1

    def check_time(self) -> None:
        """Raise `BudgetSpent` if the time has run out."""
        if time.monotonic() - self.started > self.seconds:
            raise BudgetSpent


@dataclass(slots=True)
class Oracle:
    """Decides whether a stream fails like the original one."""

    original: Trial
    judge: Callable[[Trial], Awaitable[Judgement]]
    budget: SearchBudget
    path: str = ""
    """The path of the failing check."""
    target: FailureSignature | None = None
    cuts: CutPolicy = "as-is"
    original_broken_rules: frozenset[str] = frozenset()
    """The grammar rules that the original stream violates."""
    original_reading: ReferenceReading | None = None
    _cached_bytes: int = 0
    _results: dict[tuple[bytes, ...], bool] = field(default_factory=dict)

    def make_candidate(self, stream: SplitStream) -> Candidate | None:
        """Return the candidate for `stream`, or None if it is not a valid stream of the API.

        Raises `BudgetSpent`.
        """
        # Checked here too, because an invalid candidate costs no trial, and there may be thousands of them.
        self.budget.check_time()
        case = self.original.case
        body = stream.body
        self._cached_bytes += len(body)
        if self._cached_bytes > MAX_CACHED:
            self._cached_bytes = 0
            clear_caches()
        if not body or APIS[case.api].detect_framing(case.cassette.status, body) != stream.framing:
            return None
        if (
            self.original_reading is not None
            and not self.find_broken_rules(stream) <= self.original_broken_rules
        ):
            return None
        # The chunk marks are offsets in the original body, and the twin is another form of its whole answer.
        cassette: Cassette = replace(case.cassette, body=body, marks=(), twin=None)
        reading = decode_by_reference(cassette, case)
        if self.original_reading is not None and not self.original_reading.allows(reading):
            return None
        expected = build_expectation(reading, body, case, self.path)
        smaller = replace(case, cassette=cassette, expect=expectation.parse(expected), skip=None)
        # Deliveries that change bytes have already changed the body; gzip is applied when it is sent.
        name = self.original.delivery if self.original.delivery == "gzip" else "as-is"
        chunks = make_chunks(smaller, self.cuts, stream)
        trial = replace(self.original, case=smaller, delivery=name, plan=Delivered(chunks))
        return Candidate(stream, trial, expected, reading)

    def find_broken_rules(self, stream: SplitStream) -> frozenset[str]:
        """Return the grammar rules that `stream` violates; none for a document, which has no grammar."""
        if stream.framing == "document":
            return frozenset()
        case = self.original.case
        return find_broken_rules(case.api, stream.body, case.cassette.request.body)

    async def find_failures(self, candidate: Candidate) -> dict[FailureSignature, Check | None]:
        """Return the failures of the implementation's answer. Raises `BudgetSpent`."""
        self.budget.spend()
        return collect_signatures(await self.judge(candidate.trial))

    async def fails(self, candidate: Candidate) -> bool:
        """Return whether a candidate fails like the original stream (cached). Raises `BudgetSpent`."""
        # The chunks are all that differs between candidates for the implementation.
        key = candidate.trial.chunks
        if key not in self._results:
            self._results[key] = self.target in await self.find_failures(candidate)
        return self._results[key]
