"""Run trials on programs in parallel and judge their answers."""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from streamconform.adapters.interface import Answer, Hang, Observation, ProtocolFault, ServerRecord
from streamconform.adapters.process import find_error_line
from streamconform.adapters.program import Collateral, Program
from streamconform.errors import ImplementationError, ReportError
from streamconform.judge.judge import CheckAnswer, Judgement, check_answer, judge, serialize_answer
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial, Trial
from streamconform.printable import escape_line
from streamconform.run.answers import encode_answer
from streamconform.run.blame import Blame
from streamconform.run.budget import Stopwatch
from streamconform.run.dispatch import Dispatched, Dispatcher, add_requests, apply_http_checks
from streamconform.run.grown import get_time_limit
from streamconform.run.interruptible import TookTooLongError, interrupt_at_once
from streamconform.run.plan import ImplementationPlan, Settings
from streamconform.run.repeated_answers import RepeatedAnswers
from streamconform.run.tickets import Batch, PendingTrials, Tickets

if TYPE_CHECKING:
    from streamconform.replay.server import ReplayServer

GIVE_UP_AFTER = 50
"""How many programs of an implementation may end or time out in a row without answering."""
GIVE_UP_WITHOUT_ANSWER = 10
"""The limit that applies while no program of the implementation has ever answered."""
MAX_LAST_FAULT = 120
"""The maximum number of characters to quote from the last failure in the results of trials not run."""
JUDGING_SECONDS = 60.0
"""Time limit for judging one answer; the largest possible answer takes a few seconds."""
MAX_UNJUDGED = 16
"""The number of answers per task that may wait while other trials are being served."""
TRIALS_PER_WORKER = 8
"""The minimum number of trials per worker; no worker is added if that would leave each worker with fewer."""

Emit = Callable[[TrialResult, bytes | None], None]
"""Records a result and the line of the answers file, if there is one. Raises `RunStopped`."""


class RunStopped(Exception):
    """The run ends early: at `--maxfail`, or because its answers are of no use."""


class Counts(Protocol):
    """A count for each implementation."""

    def __getitem__(self, index: int, /) -> int: ...

    def __setitem__(self, index: int, count: int, /) -> None: ...


def _make_counts() -> Counts:
    return defaultdict(int)


class Tally(Struct):
    """Counts the programs of each implementation that failed in a row.

    The processes of a run share the counts. Two of them may count at the same time, and then one failure is
    not counted, which only delays the end by one program.
    """

    answered: Counts = field(default_factory=_make_counts)
    """1 for each implementation that has answered a trial."""
    failures: Counts = field(default_factory=_make_counts)
    """How many programs of each implementation have ended or timed out since its last answer."""
    imported_reference: Counts = field(default_factory=_make_counts)
    """1 for each implementation that has imported the bundled parser."""
    last_faults: dict[int, str] = field(default_factory=dict)
    """The reason why the last of these ended or timed out, if it was a program of this process."""

    def record_answer(self, implementation: int, answer: Answer) -> None:
        """Count a protocol fault or a timeout as a failure; any other answer resets the count."""
        match answer:
            case ProtocolFault(kind, message):
                self.record_failure(implementation, f"{kind}: {message}")
            case Hang(seconds):
                self.record_failure(implementation, f"no answer in {seconds:g} s")
            case _:
                self.answered[implementation] = 1
                self.failures[implementation] = 0

    def restore(self, result: TrialResult) -> None:
        """Count a result of the interrupted run."""
        # A program that raised has answered; the results do not distinguish a crash from an exception.
        if result.verdict not in ("skipped", "hang"):
            self.answered[result.implementation] = 1

    def record_failure(self, implementation: int, message: str) -> None:
        """Count a program that ended without an answer, unless its implementation was already abandoned."""
        if not self.gave_up(implementation):
            self.last_faults[implementation] = message
            self.failures[implementation] += 1

    def gave_up(self, implementation: int) -> bool:
        """Return whether the implementation has failed too many times in a row to run more trials."""
        limit = GIVE_UP_AFTER if self.answered[implementation] else GIVE_UP_WITHOUT_ANSWER
        return self.failures[implementation] >= limit

    def create_fault(self, implementation: int) -> ProtocolFault:
        """Return the answer for trials that are not run because the implementation was abandoned."""
        message = f"not run: the program ended {self.failures[implementation]} times in a row"
        last = self.last_faults.get(implementation)
        # Every remaining trial gets this message, so keep the quote short.
        quote = f" ({escape_line(last, MAX_LAST_FAULT)})" if last is not None else ""
        return ProtocolFault("gave-up", message + quote)


class WorkerContext(Struct, frozen=True):
    """The settings and services that all workers share."""

    settings: Settings
    blame: Blame
    emit: Emit
    tally: Tally
    stopwatch: Stopwatch
    saves_answers: bool = False
    server: ReplayServer | None = None
    """The server for implementations whose input is `http`."""
    workers: int = 1
    """The number of parallel programs in this process."""
    repeated: RepeatedAnswers = field(default_factory=RepeatedAnswers)


class WorkQueue(Struct):
    """The pending trials of one implementation, and those to retry in isolation."""

    plan: ImplementationPlan
    pending: PendingTrials
    dispatcher: Dispatcher
    retries: list[AnyTrial] = field(default_factory=list)

    def may_start(self, context: WorkerContext) -> bool:
        """Return whether there is a trial that may start now."""
        return not context.tally.gave_up(self.plan.index) and self.pending.refill()


class _Flight(Struct, frozen=True):
    """A trial that a program has got, and its future answer."""

    trial: AnyTrial
    sent: float
    future: Dispatched


async def judge_all(
    plan: ImplementationPlan,
    batches: Sequence[Batch],
    tickets: Tickets,
    context: WorkerContext,
    program: Program | None,
) -> None:
    """Run the batches of `plan` that this process gets from `tickets`, and emit their results.

    Raises `RunStopped`. Each worker has its own program, which runs as many trials at once as it allows;
    the first worker uses `program`, if it is already started. If a program ends while several trials are in
    flight, it is unknown which one is to blame, so they are retried one at a time. If the budget is spent, no
    trial starts any more.
    """
    dispatcher = Dispatcher(plan, context.blame.find_first_delta, context.server)
    pending = PendingTrials(plan.index, batches, tickets, context.stopwatch)
    queue = WorkQueue(plan, pending, dispatcher)
    # A proxy has one upstream.
    workers = 1 if plan.greeting.through else count_workers(len(plan.trials), context.workers)
    concurrency = 1 if plan.is_measured else plan.greeting.concurrency
    await _run_workers(queue, workers, concurrency, context, program)
    if queue.retries:
        # Restore the suite's order, since retries are added in the order in which programs died.
        queue.pending.put_back(sorted(queue.retries, key=plan.trials.index))
        await _run_workers(queue, workers, 1, context)


def count_workers(trials: int, most: int) -> int:
    """Return the number of workers for this many trials, of at least one and at `most` that many."""
    # Starting a program takes longer than a few trials.
    return max(1, min(most, math.ceil(trials / TRIALS_PER_WORKER)))


def emit_skipped(plan: ImplementationPlan, emit: Emit) -> None:
    """Emit the results of the trials that are not run."""
    for trial, reason in plan.skipped:
        emit(_make_result(plan, trial, Judgement("skipped", None, reason=reason), 0.0), None)


async def _run_workers(
    queue: WorkQueue,
    workers: int,
    concurrency: int,
    context: WorkerContext,
    program: Program | None = None,
) -> None:
    programs = [program, *(None for _ in range(workers - 1))]
    tasks = [asyncio.create_task(_run_worker(queue, concurrency, context, started)) for started in programs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            if not task.cancelling():  # a second cancellation would interrupt the shutdown of its program
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run_worker(
    queue: WorkQueue, concurrency: int, context: WorkerContext, started: Program | None
) -> None:
    """Use the `started` program, if any, then start one program after another until no trials are pending."""
    while queue.may_start(context):
        program = started or Program(queue.plan.connection)
        failure: BaseException | None = None  # Raising it inside `except*` would wrap it in a group.
        try:
            if started is None:
                await program.start(context.settings.start_timeout)
            started = None
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(_run_trials(program, queue, context))
        except* (RunStopped, ReportError, OSError) as group:
            failure = _get_first(group)
        except* ImplementationError as error:
            fault = f"exited: the program ended (during startup): {_find_cause(str(error.exceptions[0]))}"
            context.tally.record_failure(queue.plan.index, fault)
        finally:
            await program.stop()
        if failure is not None:
            raise failure
    await _give_up(queue, context)


def _get_first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception in a group or, if that is a group too, the first one in it, and so on."""
    first = group.exceptions[0]
    return _get_first(first) if isinstance(first, BaseExceptionGroup) else first


def _find_cause(message: str) -> str:
    """Return the line that contains the error in a message about a program that could not be started."""
    first, *quoted = message.splitlines()
    return find_error_line("\n".join(line.removeprefix("  | ") for line in quoted)) or first


async def _run_trials(program: Program, queue: WorkQueue, context: WorkerContext) -> None:
    """Run pending trials on `program` until it dies or no trials are left.

    If the program answers in order, it gets the next trials before it has answered, so that it never waits.
    An answer is judged while the program works on the next trial or, if a delay could change that trial's
    answer, between trials.
    """
    tally, settings, plan, dispatcher = context.tally, context.settings, queue.plan, queue.dispatcher
    flights: deque[_Flight] = deque()
    unjudged: deque[Callable[[], None]] = deque()
    answered = 0.0
    try:
        while True:
            while _may_send(program, len(flights), queue, context):
                trial = queue.pending.take()
                future = dispatcher.begin(program, trial, get_time_limit(trial, settings.timeout))
                flights.append(_Flight(trial, time.perf_counter(), future))
            if not flights:
                break
            if not dispatcher.is_timed:
                if isinstance(flights[0].future, asyncio.Task):
                    await asyncio.sleep(0)  # so that the task sends its trial before this one judges
                _call_each(unjudged)
            given = await flights[0].future
            answer, server = given if isinstance(given, tuple) else (given, None)
            # The program is dead; these trials are judged later.
            if isinstance(answer, Collateral):
                if not program.answers_in_order:
                    queue.retries.append(flights.popleft().trial)
                break
            flight = flights.popleft()
            began, answered = max(flight.sent, answered), time.perf_counter()
            tally.record_answer(plan.index, answer)
            if program.imported_reference:
                tally.imported_reference[plan.index] = 1
            ms = (answered - began) * 1000
            unjudged.append(partial(_judge_answer, plan, flight.trial, answer, server, ms, context))
            if settings.maxfail or _is_time_to_judge(dispatcher, unjudged):
                await dispatcher.turns.wait_to_judge()
                _call_each(unjudged)
        await dispatcher.turns.wait_to_judge()
    finally:
        for flight in flights:
            flight.future.cancel()
        queue.pending.put_back([flight.trial for flight in flights])
        # Also if the run is interrupted, so that no answer is lost.
        _call_each(unjudged)


def _may_send(program: Program, running: int, queue: WorkQueue, context: WorkerContext) -> bool:
    """Return whether `program`, which has `running` trials, gets another one now."""
    # With `--maxfail`, the verdict decides whether there is a next trial.
    if running and context.settings.maxfail:
        return False
    return queue.dispatcher.can_begin(program, running) and queue.may_start(context)


async def _give_up(queue: WorkQueue, context: WorkerContext) -> None:
    """Emit the results of the pending trials, which are not run."""
    while queue.pending.refill():
        trial = queue.pending.take()
        await queue.dispatcher.turns.wait_to_judge()
        fault = context.tally.create_fault(queue.plan.index)
        _judge_answer(queue.plan, trial, fault, None, 0.0, context)


def _is_time_to_judge(dispatcher: Dispatcher, unjudged: Sequence[object]) -> bool:
    """Return whether to judge before the next trial."""
    # A program that runs several trials at once is hardly ever idle, and waiting for all of them takes long.
    return dispatcher.is_timed and (not dispatcher.turns.serving or len(unjudged) >= MAX_UNJUDGED)


def _call_each(functions: deque[Callable[[], None]]) -> None:
    """Call the functions in order; each is removed before its call, so that none is called twice."""
    while functions:
        functions.popleft()()


def _judge_answer(
    plan: ImplementationPlan,
    trial: AnyTrial,
    answer: Answer,
    server: ServerRecord | None,
    ms: float,
    context: WorkerContext,
) -> None:
    """Judge an answer and emit the result. Raises `RunStopped`."""
    result = build_result(plan, trial, answer, server, ms, context.blame, context.repeated.check)
    line = encode_answer(plan.index, trial, answer, server, ms) if context.saves_answers else None
    context.emit(result, line)


def build_result(
    plan: ImplementationPlan,
    trial: AnyTrial,
    answer: Answer,
    server: ServerRecord | None,
    ms: float,
    blame: Blame,
    check: CheckAnswer = check_answer,
) -> TrialResult:
    """Judge an answer and return its result, with the frames of failing checks.

    The known-failures file is not applied yet. Within `run_interruptible`, a signal interrupts judging.
    """
    try:
        with interrupt_at_once(JUDGING_SECONDS):
            return _build_result(plan, trial, answer, server, ms, blame, check)
    except TookTooLongError:
        message = f"judging the answer took more than {JUDGING_SECONDS:g} s; it is too large, or a pattern in"
        fault = ProtocolFault("too-slow-to-judge", f"{message} the case takes too long to match")
        return _build_result(plan, trial, fault, None, ms, blame, check)


def _build_result(
    plan: ImplementationPlan,
    trial: AnyTrial,
    answer: Answer,
    server: ServerRecord | None,
    ms: float,
    blame: Blame,
    check: CheckAnswer,
) -> TrialResult:
    claims = plan.greeting.claims(trial.case.api)
    trial = plan.apply_proxy_view(trial)
    judgement = judge(trial, answer, claims, blame.find_first_delta, check)
    if judgement.checks and isinstance(trial, Trial):
        judgement = replace(judgement, checks=blame.add_frames(trial, judgement.checks, claims))
    if server is not None:
        judgement = apply_http_checks(judgement, trial, answer, server)
    return _make_result(plan, trial, judgement, ms, answer, server)


def _make_result(
    plan: ImplementationPlan,
    trial: AnyTrial,
    judgement: Judgement,
    ms: float,
    answer: Answer | None = None,
    server: ServerRecord | None = None,
) -> TrialResult:
    # Reports read nothing but the results file, so a result that needs attention carries its case's title.
    clean = judgement.verdict == "pass" and not judgement.checks
    return TrialResult(
        implementation=plan.index,
        id=trial.id,
        case=trial.case.id,
        delivery=trial.delivery,
        level=trial.level,
        verdict=judgement.verdict,
        culprit=judgement.culprit,
        ms=round(ms, 3),
        checks=judgement.checks,
        passed=judgement.passed,
        reason=judgement.reason,
        resources=answer.resources if isinstance(answer, Observation) else None,
        observation=None if clean or answer is None else add_requests(serialize_answer(answer), server),
        title=None if clean else trial.case.title,
        guards=() if clean else trial.case.guards,
        not_exposed=judgement.not_exposed,
        compared=judgement.claims.compared,
        uncompared=judgement.claims.uncompared,
        unknown_keys=judgement.unknown_keys,
    )
