"""Execute a run: greet all implementations, judge them one by one, and write results as they arrive."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import mmap
import platform
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from msgspec import Struct

from streamconform._version import __version__
from streamconform.adapters.connect import Connection
from streamconform.adapters.interface import Greeting
from streamconform.adapters.program import Program
from streamconform.conservation import find_lost
from streamconform.errors import Problem, SelectionError
from streamconform.known_failures.context import KnownFailuresContext, get_checked_paths, list_problems
from streamconform.known_failures.declaration import list_false_claims
from streamconform.known_failures.match import CheckedPaths, OutdatedEntry, Settler, find_outdated
from streamconform.model.result import (
    RULES,
    Footer,
    Header,
    TrialResult,
    UncomparedClaim,
    is_unexpected,
)
from streamconform.model.trial import AnyTrial
from streamconform.model.verdict import VERDICTS
from streamconform.plural import format_count
from streamconform.run.answers import AnswersWriter, SavedAnswers, compute_input_digest
from streamconform.run.blame import Blame, load_snapshots
from streamconform.run.budget import Budget, Stopwatch
from streamconform.run.claims import find_uncompared_claims
from streamconform.run.exits import Exit, RunSummary, choose_exit
from streamconform.run.first_answers import FirstAnswers
from streamconform.run.interruptible import run_interruptible
from streamconform.run.merge import sort_trials
from streamconform.run.plan import ImplementationPlan, Settings, plan_implementation
from streamconform.run.pool import (
    Emit,
    RunStopped,
    Tally,
    WorkerContext,
    build_result,
    count_workers,
    emit_skipped,
    judge_all,
)
from streamconform.run.refusals import Refusals
from streamconform.run.repeated_answers import RepeatedAnswers
from streamconform.run.result_size import ResultBounds
from streamconform.run.results import RUN_FACTS, Results, ResultsWriter
from streamconform.run.resume import require_same_run, unsettle
from streamconform.run.tickets import MAX_TICKETS, Batch, Tickets, divide
from streamconform.run.worker_process import STOP_SECONDS, WorkerProcess
from streamconform.suite.order import order_trials
from streamconform.system import can_fork

if TYPE_CHECKING:
    from streamconform.replay.server import ReplayServer


MAX_LOST: Final = 100
"""The number of lost trials that a footer names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The implementations to judge, and their trials."""

    connections: tuple[Connection, ...]
    trials: tuple[AnyTrial, ...]
    settings: Settings
    selection: Mapping[str, Any]
    """The options that selected the trials, for the results header."""
    blame: bool = True
    """Whether to find the relevant frames for failing checks, which takes time."""
    known_failures: tuple[KnownFailuresContext, ...] = ()
    """The known-failures files for these implementations."""
    digest: str | None = None
    """The suite's digest, for the results header."""
    command: str | None = None
    """The command line, for the results header."""
    resumed: Results | None = None
    """The results of the interrupted run that this one continues."""
    answers: Path | None = None
    """The file in which to save all answers."""
    budget: Budget | None = None
    """The time for the trials, and which of them to run first; None means all trials, in suite order."""
    copy: Path | None = None
    """A second file for the results, in which later commands look for the last run."""


class Progress(Struct, frozen=True):
    """Callbacks during a run."""

    on_start: Callable[[Header], None]
    on_result: Callable[[TrialResult], None]
    on_long_wait: Callable[[str], None] | None = None
    """Receives a message if an implementation takes long to start."""


SILENT: Final = Progress(lambda _: None, lambda _: None)
"""Callbacks that do nothing."""


class FinishedRun(Struct, frozen=True):
    """The sorted results of a run and its exit code."""

    results: Results
    exit: Exit
    unsettled: tuple[TrialResult, ...]
    """The results before applying the known-failures files."""
    outdated: tuple[tuple[OutdatedEntry, ...], ...]
    """The outdated entries in each known-failures file, in the order in which the request lists the files."""
    checked_paths: Callable[[TrialResult], CheckedPaths]
    """A function that returns the paths judged in a trial."""
    not_run: tuple[str, ...] = ()
    """The ids of the trials for which the budget left no time, for each implementation in suite order."""


def describe_platform() -> str:
    """Return the Python version, the system and the processor, as in `Python 3.12.1, Linux 6.1.0, x86_64`."""
    system = platform.uname()
    parts = (f"Python {platform.python_version()}", f"{system.system} {system.release}", system.machine)
    return ", ".join(part.strip() for part in parts if part.strip())


def execute_run(request: RunRequest, path: Path, progress: Progress) -> FinishedRun:
    """Execute `request`, write `path` line by line, and return the results.

    Raises `ImplementationError` before any trial runs if an implementation cannot be reached. On Ctrl-C, or
    on SIGTERM (which CI systems send), the run stops every program and writes the footer; the exit code is
    130.
    """
    with _Runner(request, path, progress) as runner:
        try:
            run_interruptible(runner.run())
        except KeyboardInterrupt:
            runner.interrupted = True
            # Nothing is written yet, so there is nothing to finish.
            if runner.header is None:
                raise
        return runner.finish()


def judge_saved(request: RunRequest, saved: SavedAnswers) -> FinishedRun:
    """Judge the answers of an earlier run by today's rules, and return the results; nothing is written.

    A trial of `request` has no result if there is no answer to it, or if it has changed since. Raises
    `ReportError`.
    """
    runner = _Runner(request, None, SILENT)
    runner.judge(saved)
    return runner.finish()


class _Runner:
    """The state of one run. The context forks this process for further workers."""

    def __init__(self, request: RunRequest, path: Path | None, progress: Progress) -> None:
        self.request = request
        self.path = path
        self.progress = progress
        self.header: Header | None = None
        self._started = time.monotonic()
        self.interrupted = False
        self._stopped_early = False
        self._stopped_because: str | None = None
        self._writer: ResultsWriter | None = None
        self._answers: AnswersWriter | None = None
        self._open_files = contextlib.ExitStack()
        self._first_answers = tuple(FirstAnswers() for _ in request.connections)
        self._planned: frozenset[tuple[int, str]] = frozenset()
        self._unexpected = 0
        self._tickets = Tickets()
        self._stopwatch = Stopwatch(request.budget, len(request.connections))
        self._is_budget_spent = False
        self._forks: list[WorkerProcess] = []
        self._tally = _make_shared_tally(len(request.connections))
        self._blame = Blame(load_snapshots() if request.blame else None)
        self._bounds = ResultBounds()
        self._refusals = Refusals()
        self._settled: list[TrialResult] = []
        self._unsettled: list[TrialResult] = []
        self._plans: list[ImplementationPlan] = []
        self._trials = {trial.id: trial for trial in request.trials}
        files = [context.known for context in request.known_failures]
        strict = request.settings.strict
        self._settlers = [
            Settler(
                (file for file in files if file.applies_to(connection.impl)),
                self._get_checked_paths,
                strict=strict,
            )
            for connection in request.connections
        ]

    def __enter__(self) -> Self:
        request = self.request
        if can_fork():
            for _ in range(count_workers(len(request.trials), request.settings.workers) - 1):
                self._forks.append(WorkerProcess(self._run_in_fork, self._forks))
        return self

    def __exit__(self, *_: object) -> None:
        self._close_forks()
        self._tickets.close()
        self._open_files.close()

    def _close_forks(self) -> None:
        while self._forks:
            self._forks.pop().close()

    async def _run_in_fork(self, greetings: Sequence[Greeting], emit: Emit) -> None:
        """Run the batches that a fork of this process gets."""
        self._tickets.stop_issuing()
        self._plans = self._list_remaining(self._make_plans(greetings))
        await self._run_batches(self._divide_plans(), (None,) * len(greetings), emit, workers=1)

    async def run(self) -> None:
        """Run all trials and write their results, but not the footer."""
        async with contextlib.AsyncExitStack() as stack:
            await self._run(self.request, stack)

    async def _run(self, request: RunRequest, stack: contextlib.AsyncExitStack) -> None:
        # The first worker uses the program that answered the greeting: starting one can take a second.
        programs = [Program(connection) for connection in request.connections]
        greetings = []
        for program in programs:
            # Registered before the start, which may fail and leave a process behind.
            stack.push_async_callback(program.stop)
            limit = request.settings.start_timeout
            greetings.append(await program.start(limit, self.progress.on_long_wait))
        self._plan(greetings)
        assert self.header is not None, "`_plan` made it"
        assert self.path is not None, "only `judge_saved` writes no file"
        if request.resumed is None:
            self._writer = ResultsWriter(self.path, copy=request.copy)
            self._writer.write(self.header)
            self.progress.on_start(self.header)
        else:
            self._resume(request.resumed)
        if request.answers is not None:
            hellos = [program.hello for program in programs]
            self._answers = AnswersWriter(request.answers, self.header, hellos)
            self._open_files.enter_context(self._answers)
        with contextlib.suppress(RunStopped):
            for plan in self._plans:
                emit_skipped(plan, self._emit)
            await self._run_with_forks(greetings, programs)

    def _plan(self, greetings: Sequence[Greeting]) -> None:
        """Plan the trials of each implementation, and make the header of the results."""
        request = self.request
        self._plans = self._make_plans(greetings)
        planned = [(plan.index, trial) for plan in self._plans for trial in plan.all_trials]
        if request.trials and not planned:
            raise SelectionError(_explain_nothing_planned(self._plans))
        self._planned = frozenset((index, trial.id) for index, trial in planned)
        self.header = Header(
            version=__version__,
            rules=RULES,
            cases=len({trial.case.id for _, trial in planned}),
            trials=len(planned),
            implementations=tuple(plan.info for plan in self._plans),
            selection=request.selection,
            seed=request.settings.seed,
            date=datetime.now(UTC).date().isoformat(),
            digest=request.digest,
            command=request.command,
            platform=describe_platform(),
        )

    def judge(self, saved: SavedAnswers) -> None:
        """Judge saved answers instead of running trials."""
        self._plan(saved.greetings)
        assert self.header is not None, "`_plan` made it"
        facts = {name: getattr(saved.header, name) for name in RUN_FACTS}
        self.header = replace(self.header, **facts)
        repeated = RepeatedAnswers()
        pending = {(plan.index, trial.id): trial for plan in self._plans for trial in plan.trials}
        for plan in self._plans:
            emit_skipped(plan, self._emit)
        for one in saved:
            trial = pending.get((one.implementation, one.id))
            if trial is None or compute_input_digest(trial) != one.input:
                continue
            del pending[one.implementation, one.id]
            plan = self._plans[one.implementation]
            self._tally.record_answer(plan.index, one.answer)
            result = build_result(plan, trial, one.answer, one.server, one.ms, self._blame, repeated.check)
            self._emit(result)
        if pending:
            self._stopped_early = True
            count = format_count(len(pending), "trial")
            self._stopped_because = f"{count} changed since the answers were saved, or without an answer"

    async def _run_with_forks(self, greetings: Sequence[Greeting], programs: Sequence[Program]) -> None:
        if any(greeting.through is not None for greeting in greetings):
            self._close_forks()  # a proxy has one upstream
        self._stopwatch.start()  # first, because the forks measure from here too
        for fork in self._forks:
            fork.begin(greetings)
        batches = self._divide_plans()
        self._tickets.issue(list(map(len, batches)))
        workers = 1 if self._forks else self.request.settings.workers
        own = asyncio.create_task(self._run_batches(batches, programs, self._emit, workers=workers))
        received = [asyncio.create_task(fork.receive(self._emit)) for fork in self._forks]
        try:
            done, _ = await asyncio.wait((own, *received), return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            own.cancel()
            for fork, task in zip(self._forks, received, strict=True):
                if not task.done():
                    fork.interrupt()
            # Also the results that arrive after an interrupt, so that none is lost.
            await asyncio.wait((own, *received), timeout=STOP_SECONDS)
            for task in received:
                task.cancel()
            await asyncio.gather(own, *received, return_exceptions=True)

    async def _run_batches(
        self,
        divided: Sequence[Sequence[Batch]],
        programs: Sequence[Program | None],
        emit: Emit,
        *,
        workers: int,
    ) -> None:
        """Run those batches of each plan that this process gets, on its program if that is started."""
        over_http = any(plan.input == "http" for plan in self._plans)
        async with _create_server() if over_http else contextlib.nullcontext() as server:
            settings, saves_answers = self.request.settings, self.request.answers is not None
            context = WorkerContext(
                settings, self._blame, emit, self._tally, self._stopwatch, saves_answers, server, workers
            )
            for plan, batches, program in zip(self._plans, divided, programs, strict=True):
                await judge_all(plan, batches, self._tickets, context, program)

    def _make_plans(self, greetings: Sequence[Greeting]) -> list[ImplementationPlan]:
        request = self.request
        return [
            plan_implementation(i, connection, greeting, request.trials, request.settings.input)
            for i, (connection, greeting) in enumerate(zip(request.connections, greetings, strict=True))
        ]

    def _divide_plans(self) -> list[tuple[Batch, ...]]:
        most = MAX_TICKETS // len(self._plans)
        return [divide(self._arrange(plan.trials), most) for plan in self._plans]

    def _arrange(self, trials: tuple[AnyTrial, ...]) -> tuple[AnyTrial, ...]:
        """Return `trials` in the order in which they run."""
        budget = self.request.budget
        return trials if budget is None else order_trials(trials, budget.first)

    def _resume(self, earlier: Results) -> None:
        """Take over the results from an interrupted run, and remove their trials from the plans."""
        assert self.header is not None, "the caller made the header"
        require_same_run(earlier.header, self.header)
        self.header = earlier.header
        restored = [unsettle(result) for result in earlier.trials]
        # The known-failures files may have changed since, so the verdicts are settled again.
        settled = [self._settlers[result.implementation](result) for result in restored]
        assert self.path is not None, "only `judge_saved` writes no file"
        self._writer = ResultsWriter(self.path, (self.header, *settled), self.request.copy)
        self.progress.on_start(self.header)
        for result, final in zip(restored, settled, strict=True):
            self._tally.restore(result)
            self._refusals.release(result)  # it was emitted, but it may show that the API was reached
            self._record(result, final)
        self._plans = self._list_remaining(self._plans)

    def _list_remaining(self, plans: Sequence[ImplementationPlan]) -> list[ImplementationPlan]:
        """Return the plans without the trials that have results from the interrupted run."""
        earlier = self.request.resumed
        done = {(result.implementation, result.id) for result in earlier.trials} if earlier else set()
        return [plan.without(done) if done else plan for plan in plans]

    def _emit(self, result: TrialResult, answer: bytes | None = None) -> None:
        if self._stopped_early:  # other workers finish the trials that they have begun
            return
        if self._answers is not None and answer is not None:
            self._answers.write(answer)
        for released in self._refusals.release(result):
            self._settle(released)

    def _settle(self, result: TrialResult) -> None:
        """Apply the known failures to a result, and write it. Raises `RunStopped`."""
        # Known failures are applied here and not at the end, so that `-x` stops at the first new failure.
        result = self._bounds.shorten(result)
        settled = self._settlers[result.implementation](result)
        if self._writer is not None:
            self._writer.write(settled)
        self._record(result, settled)
        maxfail = self.request.settings.maxfail
        if maxfail and self._unexpected >= maxfail and self._is_unexpected(settled):
            self._stopped_early = True
            raise RunStopped
        first = self._first_answers[settled.implementation]
        if first.add(settled, self._trials[settled.id]) and self._writer is not None:
            impl = self.request.connections[settled.implementation].impl
            self._stopped_because = first.find_fault(impl)
            if self._stopped_because is not None:
                self._stopped_early = True
                raise RunStopped

    def _record(self, unsettled: TrialResult, settled: TrialResult) -> None:
        self._unsettled.append(unsettled)
        self._settled.append(settled)
        self._unexpected += self._is_unexpected(settled)
        self.progress.on_result(settled)

    def _is_unexpected(self, settled: TrialResult) -> bool:
        return is_unexpected(settled, strict=self.request.settings.strict)

    def finish(self) -> FinishedRun:
        assert self.header is not None, "`run` wrote the header or raised"
        self._is_budget_spent = not self.interrupted and not self._stopped_early and self._has_spent_budget()
        # After a budget is spent, a trial that has not run may still show that the API was reached.
        if not self.interrupted and not self._is_budget_spent:
            with contextlib.suppress(RunStopped):
                for result in self._refusals.release_rest():
                    self._settle(result)
        outdated = self._find_outdated()
        lost = self._find_lost()
        claims = self._find_uncompared_claims()
        problems = (*list_problems(self.request.known_failures, outdated), *self._list_false_claims())
        exit_ = self._choose_exit(problems, lost, claims)
        counts = Counter(result.verdict for result in self._settled)
        footer = Footer(
            counts={verdict: counts[verdict] for verdict in VERDICTS},
            exit=exit_,
            complete=not (self._has_ended_early or lost),
            problems=problems,
            seconds=round(time.monotonic() - self._started, 1),
            lost=lost[:MAX_LOST],
            stopped=self._stopped_because or self._describe_spent_budget(),
            imported_reference=tuple(map(self._has_imported_reference, self._plans)),
            claims=claims,
        )
        if self._writer is not None:
            with self._writer:
                self._writer.write(footer)
        position = {id_: i for i, id_ in enumerate(self._trials)}
        # Sorted in suite order, because an update writes new known-failures entries in the order of the
        # results.
        unsettled = sorted(self._unsettled, key=lambda result: (result.implementation, position[result.id]))
        results = sort_trials(Results(self.header, tuple(self._settled), footer))
        not_run = self._list_missing() if self._is_budget_spent else ()
        return FinishedRun(results, exit_, tuple(unsettled), outdated, self._get_checked_paths, not_run)

    @property
    def _has_ended_early(self) -> bool:
        """Whether trials are missing for a reason that is no bug."""
        return self.interrupted or self._stopped_early or self._is_budget_spent

    def _has_spent_budget(self) -> bool:
        """Return whether trials did not run because the time of their implementation was up."""
        begun = {(result.implementation, result.id) for result in (*self._settled, *self._refusals.held)}
        return any(self._stopwatch.is_spent(index) for index, _ in self._planned - begun)

    def _describe_spent_budget(self) -> str | None:
        budget = self.request.budget
        return budget.describe() if budget is not None and self._is_budget_spent else None

    def _list_missing(self) -> tuple[str, ...]:
        """Return the ids of the planned trials without a result, for each implementation in suite order."""
        ended = {(result.implementation, result.id) for result in self._settled}
        missing = self._planned - ended
        return tuple(id_ for plan in self._plans for id_ in self._trials if (plan.index, id_) in missing)

    def _get_checked_paths(self, result: TrialResult) -> CheckedPaths:
        plan = self._plans[result.implementation]
        trial = plan.apply_proxy_view(self._trials[result.id])
        return get_checked_paths(trial, plan.greeting.claims(trial.case.api))

    def _list_false_claims(self) -> tuple[Problem, ...]:
        """Return what the files declare although it is not claimed, and what they do not declare."""
        infos = [plan.info for plan in self._plans]
        return tuple(
            problem
            for context in self.request.known_failures
            for info in infos
            if context.known.applies_to(info.impl)
            for problem in list_false_claims(context.known, info.claims)
        )

    def _find_outdated(self) -> tuple[tuple[OutdatedEntry, ...], ...]:
        """Return each file's outdated entries, or none if trials are missing that may match an entry."""
        if self.interrupted or self._is_budget_spent:
            return tuple(() for _ in self.request.known_failures)
        impls = [connection.impl for connection in self.request.connections]
        return tuple(
            find_outdated(
                context.known,
                [
                    result
                    for result in self._unsettled
                    if context.known.applies_to(impls[result.implementation])
                ],
                self._get_checked_paths,
                unmatched=context.unmatched,
                today=context.today,
                coverage=context.coverage.cut_short() if self._stopped_early else context.coverage,
                strict=self.request.settings.strict,
            )
            for context in self.request.known_failures
        )

    def _find_uncompared_claims(self) -> tuple[UncomparedClaim, ...]:
        """Return the claims that fail the run; none if it ended early, because trials are missing."""
        return () if self._has_ended_early else find_uncompared_claims(self._settled)

    def _has_imported_reference(self, plan: ImplementationPlan) -> bool | None:
        """Return whether the implementation's process has imported the bundled parser; None if unknown."""
        # Only our own host of Python functions says so, and nothing runs if saved answers are judged. The
        # process behind `proxy:` is our own client.
        form = plan.connection.impl.partition(":")[0]
        hosted = plan.greeting.language == "python" and form not in ("cmd", "proxy")
        hosted = hosted and self._writer is not None
        return bool(self._tally.imported_reference[plan.index]) if hosted else None

    def _find_lost(self) -> tuple[str, ...]:
        """Return the ids of planned trials without a result, and of results that are not those of the plan.

        Every trial of a run that ends by itself has exactly one result, unless the budget left no time for
        it. Anything else is a bug, or an adapter that interferes with this process, and without this check
        the run could be green.
        """
        if self.interrupted or self._stopped_early:
            return ()
        found = [(result.implementation, result.id) for result in self._settled]
        planned = self._planned.intersection(found) if self._is_budget_spent else self._planned
        return tuple(sorted(id_ for _, id_ in find_lost(planned, found)))

    def _choose_exit(
        self,
        problems: Sequence[Problem],
        lost: Sequence[str],
        claims: Sequence[UncomparedClaim],
    ) -> Exit:
        strict = self.request.settings.strict
        unexpected = any(is_unexpected(result, strict=strict) for result in self._settled)
        return choose_exit(
            RunSummary(
                interrupted=self.interrupted,
                inconsistent=bool(lost),
                unusable=self._stopped_because is not None and self._writer is not None,
                unexpected=bool(problems) or unexpected or bool(claims),
                attempted=frozenset(r.implementation for r in self._settled if r.verdict != "skipped"),
                answered=frozenset(i for i in range(len(self._plans)) if self._tally.answered[i]),
            )
        )


def _explain_nothing_planned(plans: Sequence[ImplementationPlan]) -> str:
    """Return why no implementation runs any of the selected trials."""
    left_out = next((plan for plan in plans if plan.unclaimed), None)
    if left_out is None:
        return "the selected trials need HTTP: pass `--input http`"
    apis = sorted({f"`{trial.case.api}`" for trial in left_out.unclaimed})
    return f"nothing to run: `{left_out.connection.impl}` does not claim {', '.join(apis)} (its `apis`)"


def _make_shared_tally(implementations: int) -> Tally:
    """Return a tally whose counts this process shares with its forks."""
    counts = ctypes.c_int * implementations
    answered, failures, imported = (
        counts.from_buffer(mmap.mmap(-1, ctypes.sizeof(counts))) for _ in range(3)
    )
    return Tally(answered=answered, failures=failures, imported_reference=imported)


def _create_server() -> ReplayServer:
    # Imported here, because only a run over HTTP needs it.
    from streamconform.replay.server import ReplayServer

    return ReplayServer()
