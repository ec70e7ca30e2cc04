"""Search for the smallest stream that fails in the same way as a failing trial."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from streamconform.adapters.connect import Connection
from streamconform.adapters.interface import Greeting
from streamconform.adapters.program import Program
from streamconform.apis import APIS
from streamconform.errors import SelectionError
from streamconform.judge.judge import Judgement, judge
from streamconform.model.trial import FAULTS_OVER_HTTP, Input, Trial
from streamconform.model.verdict import Check
from streamconform.replay.server import ReplayServer
from streamconform.run.plan import ImplementationPlan, explain_skip, plan_implementation
from streamconform.tools.minimise.failure_signature import (
    FailureSignature,
    collect_signatures,
    generalise_path,
)
from streamconform.tools.minimise.oracle import (
    MAX_BODY,
    BudgetSpent,
    Candidate,
    JudgedImplementation,
    Oracle,
    SearchBudget,
)
from streamconform.tools.minimise.reduce import Reducer, reduce_stream
from streamconform.tools.minimise.stream import CUTS, split_stream


class NothingToMinimise(SelectionError):
    """The case does not fail for the implementation, or not when judged by the reference's outcome."""


@dataclass(frozen=True, slots=True)
class MinimiseJob:
    """The trials to minimise, and the limits of the search."""

    connection: Connection
    trials: tuple[Trial, ...]
    """Of one case; the first that fails is taken."""
    check: str | None = None
    """The path of the check to keep, with or without numbers; None: the first of the worst."""
    input: Input | None = None
    timeout: float = 10.0
    max_trials: int = 2000
    seconds: float = 300.0


@dataclass(slots=True)
class Search:
    """A search and its current results, which are valid whenever it is interrupted."""

    order: MinimiseJob
    smaller: Callable[[Candidate, SearchBudget], None] = field(default=lambda _, __: None)
    greeting: Greeting | None = None
    first: Candidate | None = None
    """The stream that was given, as it would be kept."""
    oracle: Oracle | None = None
    reducer: Reducer | None = None
    proof: dict[FailureSignature, Check | None] = field(default_factory=dict)
    """What was wrong with the answer to the smallest stream when it was asked once more, in the end."""
    reason: str | None = None
    """Why that answer was not judged, where it was not."""
    ended: bool = False
    """Whether no pass made it smaller any more; else the budget was spent, or the search was cut."""

    @property
    def best(self) -> Candidate | None:
        """Return the smallest stream that failed so far."""
        return None if self.reducer is None else self.reducer.best

    async def run(self) -> None:
        """Search until no pass makes the stream smaller or the budget is spent.

        Raises `NothingToMinimise`, and `ImplementationError` where the implementation does not start.
        """
        order, program = self.order, Program(self.order.connection)
        try:
            self.greeting = await program.start()
            await self._start_search(order, program, self.greeting)
        finally:
            await program.stop()

    async def _start_search(self, order: MinimiseJob, program: Program, greeting: Greeting) -> None:
        judged = plan_implementation(0, order.connection, greeting, order.trials, order.input)
        if not judged.trials:
            case = order.trials[0].case
            why = explain_skip(case, greeting) or f"`{judged.input}` is no input of these trials"
            raise NothingToMinimise(f"`{case.id}` is not asked of `{order.connection.impl}`: {why}")
        async with ReplayServer() if judged.input == "http" else contextlib.nullcontext() as server:
            implementation = JudgedImplementation(order.connection, judged, order.timeout, program, server)
            try:
                await self._search(judged, implementation)
            finally:
                await implementation.stop()

    async def _search(self, judged: ImplementationPlan, implementation: JudgedImplementation) -> None:
        given, path = await self._find_failing_trial(judged, implementation)
        budget = SearchBudget(self.order.max_trials, self.order.seconds)
        oracle = self.oracle = Oracle(given, implementation.judge, budget, path=path)
        first = self.first = await self._convert_to_recorded(oracle)
        self.reducer = Reducer(oracle, first, lambda candidate: self.smaller(candidate, budget))
        with contextlib.suppress(BudgetSpent):
            await self._choose_simplest_cuts(oracle)
            await reduce_stream(self.reducer)
            self.ended = True
        last = await implementation.judge(self.reducer.best.trial)
        self.proof, self.reason = collect_signatures(last), last.reason

    async def _find_failing_trial(
        self, judged: ImplementationPlan, implementation: JudgedImplementation
    ) -> tuple[Trial, str]:
        """Return the first trial that fails, and the path of the check that does."""
        seen: list[str] = []
        for trial in judged.trials:
            assert isinstance(trial, Trial), "calls have no stream"
            judgement = await implementation.judge(trial)
            if judgement.verdict == "skipped":
                raise NothingToMinimise(f"`{trial.id}` is skipped: {judgement.reason}")
            failed = _list_failures(judgement)
            wanted = [path for path in failed if self.order.check in (None, path, generalise_path(path))]
            if wanted:
                return trial, wanted[0]
            seen += [path for path in failed if path not in seen]
        raise NothingToMinimise(_explain_nothing(self.order, judged.trials, seen))

    async def _convert_to_recorded(self, oracle: Oracle) -> Candidate:
        """Return the stream that was given as it would be kept, and set what has to go on failing."""
        given = oracle.given
        body = given.body
        if len(body) > MAX_BODY:
            raise NothingToMinimise(
                f"`{given.id}` has {len(body)} bytes; at most {MAX_BODY} are made smaller"
            )
        stream = split_stream(
            APIS[given.case.api].detect_framing(given.case.cassette.status, body), body, given.chunks
        )
        oracle.cuts = "kept"
        found = oracle.candidate(stream)
        wrong: dict[FailureSignature, Check | None] = {} if found is None else await oracle.judged(found)
        what = generalise_path(oracle.path)
        same = [each for each in wrong if each.what == what]
        if self.order.check is None:
            same = same or [*wrong]
        if found is None or not same:
            raise NothingToMinimise(
                f"`{given.id}` fails at `{oracle.path}`, but `{self.order.connection.impl}` says of these "
                "bytes what the bundled parser does, by which smaller streams are judged"
            )
        oracle.target = same[0]
        oracle.was, oracle.were_broken = found.read, oracle.broken_rules(stream)
        return found

    async def _choose_simplest_cuts(self, oracle: Oracle) -> None:
        """Take the plainest way to cut chunks with which it fails."""
        assert self.reducer is not None, "it holds the stream that was given"
        stream = self.reducer.stream
        for cuts in CUTS:
            oracle.cuts = cuts
            candidate = oracle.candidate(stream)
            if candidate is not None and await oracle.fails(candidate):
                self.reducer.best = candidate
                return


def judge_reference(candidate: Candidate) -> Judgement:
    """Return the judgement on what the reference makes of `candidate`: it has to pass."""
    claims = Greeting(name="reference").claims(candidate.trial.case.api)
    return judge(candidate.trial, candidate.read.observation, claims, lambda _: None)


def select_reducible(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials that a cassette can reproduce, which excludes connection faults."""
    return tuple(each for each in trials if each.delivery.partition(".")[0] not in FAULTS_OVER_HTTP)


def _list_failures(judgement: Judgement) -> list[str]:
    """Return the paths of what is wrong, the worst first; a verdict where no check says more."""
    return [
        symptom.what if check is None else check.path
        for symptom, check in collect_signatures(judgement).items()
    ]


def _explain_nothing(order: MinimiseJob, trials: Sequence[object], seen: Sequence[str]) -> str:
    first = order.trials[0]
    many = f"in {len(trials)} deliveries and faults" if len(trials) > 1 else f"@{first.delivery}"
    if seen:
        return f"`{first.case.id}` {many} does not fail at `{order.check}`; it does at {', '.join(seen[:8])}"
    return f"`{first.case.id}` {many} passes for `{order.connection.impl}`: there is nothing to minimise"
