"""Trials to results: programs asked in parallel, each answer judged as it comes."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from streamconform.adapters.interface import Answer, Fault, Hang
from streamconform.adapters.program import Collateral, Program
from streamconform.errors import ImplementationError
from streamconform.judge.judge import Judgement, judge, serialize_answer
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial, Trial
from streamconform.model.verdict import UNEXPECTED
from streamconform.run.blame import Blame
from streamconform.run.dispatch import Asker, over_http, with_requests
from streamconform.run.plan import Judged, Settings

if TYPE_CHECKING:
    from streamconform.replay.exchange import TrialExchange
    from streamconform.replay.server import ReplayServer

GIVE_UP_AFTER = 50
"""Programs of one implementation that may end in a row without an answer between them."""
GIVE_UP_AT_ONCE = 10
"""The same, where none of its programs ever answered."""
TRIALS_PER_WORKER = 8
"""A further worker is started for every so many trials."""

Emit = Callable[[TrialResult], TrialResult]
"""Takes a result and gives it back as it was written: with known failures told apart."""
Watch = Callable[[Judged, AnyTrial, Answer], None]
"""Sees every answer as it comes, those that passed too, which results do not keep."""


class Stopped(Exception):
    """As many unexpected verdicts as `--maxfail` allows."""


@dataclass(slots=True)
class Tally:
    """What happened so far, over all implementations."""

    answered: set[int] = field(default_factory=set)
    """The implementations that answered anything at all."""
    unexpected: int = 0
    barren: int = 0
    """Programs of the implementation at work that ended since the last answer."""

    def gave_up(self, implementation: int) -> bool:
        """Return whether there is no point in asking on."""
        limit = GIVE_UP_AFTER if implementation in self.answered else GIVE_UP_AT_ONCE
        return self.barren >= limit


@dataclass(frozen=True, slots=True)
class Bench:
    """What every worker needs: how to run, where frames come from, where results go."""

    settings: Settings
    blame: Blame
    emit: Emit
    tally: Tally
    watch: Watch | None = None
    server: ReplayServer | None = None
    """Where implementations ask that are fed over HTTP."""


@dataclass(slots=True)
class Work:
    """The trials of one implementation that wait, and those to ask again alone."""

    judged: Judged
    waiting: deque[AnyTrial]
    asker: Asker
    again: list[AnyTrial] = field(default_factory=list)
    last_fault: str = ""


async def judge_all(judged: Judged, bench: Bench, program: Program) -> None:
    """Ask for every trial of `judged` and emit its result; raises `Stopped`.

    Each worker has a program of its own, the first one `program`, which has been started, asked for as many
    trials at once as the program allows. Trials
    that were in flight with others when a program ended are asked again, one at a time.
    """
    for trial, reason in judged.skipped:
        bench.emit(_result(judged, trial, Judgement("skipped", None, reason=reason), 0.0))
    bench.tally.barren = 0
    asker = Asker(judged, bench.blame.first_delta, bench.server)
    work = Work(judged, deque(judged.trials), asker)
    await _together(work, judged.greeting.concurrency, bench, program)
    if work.again:
        work.waiting.extend(sorted(work.again, key=judged.trials.index))
        await _together(work, 1, bench)


async def _together(work: Work, lanes: int, bench: Bench, program: Program | None = None) -> None:
    most = 1 if work.judged.greeting.through else bench.settings.workers  # a proxy has one upstream
    # starting a program costs more than a few trials, so a small run has one worker
    workers = min(most, math.ceil(len(work.waiting) / TRIALS_PER_WORKER))
    programs = [program, *(None for _ in range(workers - 1))][:workers]
    tasks = [asyncio.create_task(_worker(work, lanes, bench, own)) for own in programs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            if not task.cancelling():  # a second time would interrupt the end of its program
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _worker(work: Work, lanes: int, bench: Bench, started: Program | None) -> None:
    """Use the program that was started, then start others, as they end, until nothing waits."""
    while work.waiting:
        program = started or Program(work.judged.connection)
        stopped = False
        try:
            if started is None and not bench.tally.gave_up(work.judged.index):
                await program.start()
            started = None
            async with asyncio.TaskGroup() as group:
                for _ in range(lanes):
                    group.create_task(_lane(program, work, bench))
        except* Stopped:
            stopped = True  # raised from here it would come in a group
        except* ImplementationError as error:
            work.last_fault = str(error.exceptions[0])
            bench.tally.barren += 1
        finally:
            await program.stop()
        if stopped:
            raise Stopped


async def _lane(program: Program, work: Work, bench: Bench) -> None:
    """Take trials and ask `program` for them until it is dead or nothing waits."""
    tally, settings, index = bench.tally, bench.settings, work.judged.index
    while work.waiting and (not program.dead or tally.gave_up(index)):
        trial = work.waiting.popleft()
        started = time.perf_counter()
        answer: Answer | Collateral
        exchange: TrialExchange | None = None
        if tally.gave_up(index):
            words = f"not asked: the program ended {tally.barren} times in a row ({work.last_fault})"
            answer = Fault("gave-up", words)
        else:
            answer, exchange = await work.asker.ask(program, trial, settings.timeout)
        ms = (time.perf_counter() - started) * 1000
        if isinstance(answer, Collateral):
            work.again.append(trial)
            return
        _count(answer, work, tally)
        if bench.watch is not None:
            bench.watch(work.judged, trial, answer)
        result = bench.emit(result_of(work.judged, trial, answer, exchange, ms, bench.blame))
        if is_unexpected(result, strict=settings.strict):
            tally.unexpected += 1
            if settings.maxfail and tally.unexpected >= settings.maxfail:
                raise Stopped


def result_of(
    judged: Judged, trial: AnyTrial, answer: Answer, exchange: TrialExchange | None, ms: float, blame: Blame
) -> TrialResult:
    """Return what comes of an answer: judged, with the frames of what fails; known failures are not told."""
    claims = judged.greeting.claims(trial.case.api)
    trial = judged.seen(trial)
    judgement = judge(trial, answer, claims, blame.first_delta)
    if judgement.checks and isinstance(trial, Trial):
        judgement = replace(judgement, checks=blame.told(trial, judgement.checks, claims))
    if exchange is not None:
        judgement = over_http(judgement, exchange, answer)
    return _result(judged, trial, judgement, ms, answer, exchange)


def is_unexpected(result: TrialResult, *, strict: bool) -> bool:
    """Return whether a result makes the run fail; under `strict` a warning does."""
    return result.verdict in UNEXPECTED or (strict and result.verdict == "warn")


def _count(answer: Answer, work: Work, tally: Tally) -> None:
    if isinstance(answer, Fault | Hang):
        work.last_fault = (
            answer.message if isinstance(answer, Fault) else f"no answer in {answer.seconds:g} s"
        )
        tally.barren += 1
    else:
        tally.answered.add(work.judged.index)
        tally.barren = 0


def _result(
    judged: Judged,
    trial: AnyTrial,
    judgement: Judgement,
    ms: float,
    answer: Answer | None = None,
    exchange: TrialExchange | None = None,
) -> TrialResult:
    clean = judgement.verdict == "pass" and not judgement.checks
    return TrialResult(
        implementation=judged.index,
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
        observation=None if clean or answer is None else with_requests(serialize_answer(answer), exchange),
        title=None if clean else trial.case.title,
        guards=() if clean else trial.case.guards,
    )
