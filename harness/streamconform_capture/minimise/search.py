"""Search for the smallest stream that fails in the same way as a failing trial."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from streamconform.adapters.connect import Connection
from streamconform.adapters.interface import Greeting
from streamconform.adapters.program import START_SECONDS, Program
from streamconform.apis import APIS
from streamconform.errors import SelectionError
from streamconform.judge.judge import Judgement, judge
from streamconform.model.trial import FAULTS_OVER_HTTP, Input, Trial
from streamconform.model.verdict import Check
from streamconform.replay.server import ReplayServer
from streamconform.run.plan import ImplementationPlan, explain_skip, plan_implementation
from streamconform_capture.minimise.failure_signature import (
    FailureSignature,
    collect_signatures,
    generalise_path,
)
from streamconform_capture.minimise.oracle import (
    MAX_BODY,
    BudgetSpent,
    Candidate,
    JudgedImplementation,
    Oracle,
    SearchBudget,
)
from streamconform_capture.minimise.reduce import Reducer, reduce_stream
from streamconform_capture.minimise.stream import CUT_POLICIES, split_stream


class NothingToMinimise(SelectionError):
    """The implementation passes the case, at least with the reference's outcome as the expectation."""


@dataclass(frozen=True, slots=True)
class MinimiseJob:
    """The trials to minimise, and the limits of the search."""

    connection: Connection
    trials: tuple[Trial, ...]
    """The trials of one case; the first failing trial is minimised."""
    check: str | None = None
    """The check that must keep failing, with or without indices; None means the first one with the worst
    verdict.
    """
    input: Input | None = None
    timeout: float = 10.0
    start_timeout: float = START_SECONDS
    on_long_wait: Callable[[str], None] | None = None
    """Receives a message if the implementation takes long to start."""
    max_trials: int = 2000
    seconds: float = 300.0


@dataclass(slots=True)
class Search:
    """A search and its current results, which are valid even if the search is interrupted."""

    job: MinimiseJob
    on_smaller: Callable[[Candidate, SearchBudget], None] = field(default=lambda _, __: None)
    greeting: Greeting | None = None
    first: Candidate | None = None
    """The original stream as a candidate."""
    oracle: Oracle | None = None
    reducer: Reducer | None = None
    final_failures: dict[FailureSignature, Check | None] = field(default_factory=dict)
    """The smallest stream's failures in a final run."""
    reason: str | None = None
    """The reason for that run's verdict, if there are no checks."""
    finished: bool = False
    """Whether every pass has been exhausted; false if the budget was spent or the search was interrupted."""

    @property
    def best(self) -> Candidate | None:
        """Return the smallest failing stream so far."""
        return None if self.reducer is None else self.reducer.best

    async def run(self) -> None:
        """Search until no pass makes the stream smaller or the budget is spent.

        Raises `NothingToMinimise`, and `ImplementationError` if the implementation cannot be started.
        """
        job, program = self.job, Program(self.job.connection)
        try:
            self.greeting = await program.start(job.start_timeout, job.on_long_wait)
            await self._start_search(job, program, self.greeting)
        finally:
            await program.stop()

    async def _start_search(self, job: MinimiseJob, program: Program, greeting: Greeting) -> None:
        plan = plan_implementation(0, job.connection, greeting, job.trials, job.input)
        if not plan.trials:
            case = job.trials[0].case
            reason = explain_skip(case, greeting) or f"these trials do not run with input `{plan.input}`"
            raise NothingToMinimise(f"`{case.id}` is skipped for `{job.connection.impl}`: {reason}")
        async with ReplayServer() if plan.input == "http" else contextlib.nullcontext() as server:
            implementation = JudgedImplementation(
                job.connection, plan, job.timeout, job.start_timeout, program, server
            )
            try:
                await self._search(plan, implementation)
            finally:
                await implementation.stop()

    async def _search(self, plan: ImplementationPlan, implementation: JudgedImplementation) -> None:
        original, path = await self._find_failing_trial(plan, implementation)
        budget = SearchBudget(self.job.max_trials, self.job.seconds)
        oracle = self.oracle = Oracle(original, implementation.judge, budget, path=path)
        first = self.first = await self._make_first_candidate(oracle)
        self.reducer = Reducer(oracle, first, lambda candidate: self.on_smaller(candidate, budget))
        with contextlib.suppress(BudgetSpent):
            await self._choose_simplest_cuts(oracle)
            await reduce_stream(self.reducer)
            self.finished = True
        # A result that cannot be repeated is not worth a bug report.
        last = await implementation.judge(self.reducer.best.trial)
        self.final_failures, self.reason = collect_signatures(last), last.reason

    async def _find_failing_trial(
        self, plan: ImplementationPlan, implementation: JudgedImplementation
    ) -> tuple[Trial, str]:
        """Return the first failing trial, and the path of its failing check."""
        other_paths: list[str] = []
        for trial in plan.trials:
            assert isinstance(trial, Trial), "calls have no stream"
            judgement = await implementation.judge(trial)
            if judgement.verdict == "skipped":
                raise NothingToMinimise(f"`{trial.id}` is skipped: {judgement.reason}")
            paths = _list_failed_paths(judgement)
            matching = [path for path in paths if self.job.check in (None, path, generalise_path(path))]
            if matching:
                return trial, matching[0]
            other_paths += [path for path in paths if path not in other_paths]
        raise NothingToMinimise(_explain_nothing(self.job, plan.trials, other_paths))

    async def _make_first_candidate(self, oracle: Oracle) -> Candidate:
        """Return the original stream as a candidate, and set the oracle's target."""
        original = oracle.original
        body = original.body
        if len(body) > MAX_BODY:
            raise NothingToMinimise(
                f"the body of `{original.id}` has {len(body)} bytes; the limit is {MAX_BODY}"
            )
        stream = split_stream(
            APIS[original.case.api].detect_framing(original.case.cassette.status, body), body, original.chunks
        )
        # The original chunks, because the failure may depend on them; simpler ones are tried later.
        oracle.cuts = "kept"
        candidate = oracle.make_candidate(stream)
        failures: dict[FailureSignature, Check | None] = (
            {} if candidate is None else await oracle.find_failures(candidate)
        )
        what = generalise_path(oracle.path)
        same = [signature for signature in failures if signature.what == what]
        # The reference may disagree with the case about this value; without `--check`, any failure will do.
        if self.job.check is None:
            same = same or [*failures]
        if candidate is None or not same:
            raise NothingToMinimise(
                f"`{original.id}` fails at `{oracle.path}`, but `{self.job.connection.impl}` agrees with "
                "the bundled parser on that value, and smaller streams are judged against that parser"
            )
        oracle.target = same[0]
        oracle.original_reading = candidate.reading
        oracle.original_broken_rules = oracle.find_broken_rules(stream)
        return candidate

    async def _choose_simplest_cuts(self, oracle: Oracle) -> None:
        """Split the stream into chunks in the simplest way that still makes it fail."""
        assert self.reducer is not None, "the reducer holds the original stream"
        stream = self.reducer.stream
        for cuts in CUT_POLICIES:
            oracle.cuts = cuts
            candidate = oracle.make_candidate(stream)
            if candidate is not None and await oracle.fails(candidate):
                self.reducer.best = candidate
                return


def judge_reference(candidate: Candidate) -> Judgement:
    """Judge the reference's own answer to `candidate`, which must pass."""
    claims = Greeting(name="reference").claims(candidate.trial.case.api)
    return judge(candidate.trial, candidate.reading.observation, claims, lambda _: None)


def select_reducible(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials that a cassette can reproduce: no connection faults, and none over a WebSocket."""
    return tuple(
        trial
        for trial in trials
        if trial.delivery.partition(".")[0] not in FAULTS_OVER_HTTP and trial.transport == "http"
    )


def _list_failed_paths(judgement: Judgement) -> list[str]:
    """Return the paths of failed checks, worst first, or the verdict if there are no checks."""
    return [
        signature.what if check is None else check.path
        for signature, check in collect_signatures(judgement).items()
    ]


def _explain_nothing(job: MinimiseJob, trials: Sequence[object], failed_paths: Sequence[str]) -> str:
    first = job.trials[0]
    deliveries = f"in {len(trials)} deliveries and faults" if len(trials) > 1 else f"@{first.delivery}"
    if failed_paths:
        paths = ", ".join(failed_paths[:8])
        return f"`{first.case.id}` {deliveries} does not fail at `{job.check}`, but at {paths}"
    return f"nothing to minimise: `{first.case.id}` {deliveries} passes for `{job.connection.impl}`"
