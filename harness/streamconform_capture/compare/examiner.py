"""Run implementations on recordings, in one process; each is started once, and restarted only if it exits."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from types import TracebackType
from typing import Self

from streamconform.adapters.interface import Answer, Greeting, Hang, Observation, ProtocolFault, ServerRecord
from streamconform.adapters.program import Collateral, Program
from streamconform.errors import ImplementationError
from streamconform.judge.judge import AnswerChecks
from streamconform.model.capability import Claims
from streamconform.model.case import Case
from streamconform.model.outcome import Outcome
from streamconform.model.result import ImplementationInfo, TrialResult
from streamconform.model.trial import OF_DOCUMENTS, AnyTrial, Trial
from streamconform.run.blame import Blame
from streamconform.run.dispatch import Dispatched, Dispatcher
from streamconform.run.interruptible import ticking
from streamconform.run.plan import ImplementationPlan, explain_skip, plan_implementation
from streamconform.run.pool import Tally, build_result
from streamconform.run.repeated_answers import RepeatedAnswers
from streamconform.suite.expand import expand
from streamconform_capture.compare.findings import Answers, Finding, find_findings, get_ending
from streamconform_capture.compare.inputs.recording import UnreadRecording
from streamconform_capture.compare.job import Job
from streamconform_capture.compare.part import Part, Unread, add_unread, group_findings


class Stopped(Exception):
    """The caller wants no more results."""


class Examiner:
    """A job's running implementations."""

    def __init__(self, job: Job) -> None:
        """Store `job` without starting anything."""
        self.job = job
        self._loop = asyncio.Runner()
        self._running: list[_Running] = []
        self._stack = contextlib.AsyncExitStack()

    def __enter__(self) -> Self:
        """Start the implementations. Raises `ImplementationError`."""
        self._loop.__enter__()
        try:
            self._loop.run(self._start())
        # If an implementation cannot be started, the ones before it are running already.
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the implementations."""
        self.close()

    def close(self) -> None:
        """Stop the implementations."""
        try:
            self._loop.run(self._stop())
        finally:
            self._loop.close()

    @property
    def implementations(self) -> tuple[ImplementationInfo, ...]:
        """Return the implementations' greetings."""
        return tuple(each.plan.info for each in self._running)

    def examine(
        self,
        recordings: Iterable[Case | UnreadRecording],
        *,
        keep: Callable[[Sequence[Finding]], None] | None = None,
        before: Callable[[str], None] | None = None,
    ) -> Part:
        """Examine `recordings` and return the results.

        `before` is called with each recording's name before it is examined, and `keep` with the findings of
        each recording that has any. Both may raise `Stopped`.
        """
        for each in self._running:
            each.tally = Tally()  # Failures in the worker's earlier partitions do not count.
        with ticking():
            return self._loop.run(self._examine(recordings, keep, before))

    async def _start(self) -> None:
        started: list[tuple[Program, Greeting]] = []
        for connection in self.job.connections:
            program = Program(connection)
            # Before the start, which may fail and leave a process behind.
            self._stack.push_async_callback(program.stop)
            started.append((program, await program.start(self.job.start_timeout)))
        server = None
        if any(greeting.inputs[0] == "http" for _, greeting in started):
            # Imported here, because only a run over HTTP needs it.
            from streamconform.replay.server import ReplayServer

            server = await self._stack.enter_async_context(ReplayServer())
        for index, (program, greeting) in enumerate(started):
            plan = plan_implementation(index, program.connection, greeting, ())
            dispatcher = Dispatcher(plan, BLAME.find_first_delta, server)
            self._running.append(_Running(plan, program, dispatcher, Tally()))

    async def _stop(self) -> None:
        for each in self._running:
            await each.program.stop()  # A program may have been restarted since it was pushed on the stack.
        await self._stack.aclose()

    async def _examine(
        self,
        recordings: Iterable[Case | UnreadRecording],
        keep: Callable[[Sequence[Finding]], None] | None,
        before: Callable[[str], None] | None,
    ) -> Part:
        job = self.job
        names = [each.plan.connection.impl for each in self._running]
        total = _Sum()
        for recording in recordings:
            total.listed += 1
            if isinstance(recording, UnreadRecording):
                total.unread.append(Unread(recording.api, recording.reason, 1, (recording.file,)))
                continue
            if before is not None:
                before(recording.id)
            deliveries = job.deliveries if recording.stream else OF_DOCUMENTS
            expanded = tuple(map(_make_bytes, expand((recording,), deliveries, "bytes", job.seed)))
            answers = [await self._answer(i, recording, expanded) for i in range(len(self._running))]
            findings = tuple(find_findings(recording, answers, names))
            total.add(recording.api, answers, findings)
            if findings and keep is not None:
                keep(findings)
        return total.make_part(job.examples)

    async def _answer(self, index: int, case: Case, trials: Sequence[AnyTrial]) -> Answers:
        """Return one implementation's answers to the trials of a recording."""
        running = self._running[index]
        greeting = running.plan.greeting
        plan = plan_implementation(index, running.plan.connection, greeting, trials)
        results: list[TrialResult] = []
        outcomes: dict[str, Outcome] = {}
        answered = 0
        repeated = RepeatedAnswers()

        def check(trial: Trial, seen: Observation, claims: Claims) -> AnswerChecks:
            checked = repeated.check(trial, seen, claims)
            # An answer that is not in the normal form fails an invariant instead.
            if checked.outcome is not None:
                outcomes[trial.delivery] = checked.outcome
            return checked

        sent = running.send(plan.trials, self.job.timeout)
        for trial, future in zip_longest(plan.trials, sent):
            answer, server = await self._run(running, trial, future)
            result = build_result(running.plan, trial, answer, server, 0.0, BLAME, check)
            results.append(result)
            answered += not isinstance(answer, ProtocolFault | Hang)
        reasons = Counter(reason for _, reason in plan.skipped)
        if plan.unclaimed:
            reasons[explain_skip(case, greeting) or ""] += len(plan.unclaimed)
        return Answers(greeting.claims(case.api), tuple(results), outcomes, answered, reasons)

    async def _run(
        self, running: _Running, trial: AnyTrial, sent: Dispatched | None
    ) -> tuple[Answer, ServerRecord | None]:
        """Return the answer to `trial`, which is that of `sent` if the program already has the trial."""
        plan, tally = running.plan, running.tally
        if tally.gave_up(plan.index):
            return tally.create_fault(plan.index), None
        given = Collateral() if sent is None else await sent
        answer, server = given if isinstance(given, tuple) else (given, None)
        if isinstance(answer, Collateral):
            try:
                await running.restart(self.job.start_timeout)
            except ImplementationError as error:
                tally.record_failure(plan.index, str(error).splitlines()[0])
                return tally.create_fault(plan.index), None
            answer, server = await running.dispatcher.dispatch(running.program, trial, self.job.timeout)
            assert not isinstance(answer, Collateral), "only one run is in flight"
        tally.record_answer(plan.index, answer)
        return answer, server


def _make_bytes(trial: AnyTrial) -> Trial:
    """Return `trial` with its bytes, which are looked up often if there are only three trials per case."""
    assert isinstance(trial, Trial), "a recording has no other trials"
    return replace(trial, plan=trial.plan.make(trial.case, trial.delivery))


BLAME = Blame(None)
"""The reference is not needed, because differences between implementations are shown without frames."""


@dataclass(slots=True)
class _Sum:
    """The results so far; `Part` describes them."""

    listed: int = 0
    read: Counter[str] = field(default_factory=Counter)
    trials: int = 0
    skipped: Counter[tuple[int, str]] = field(default_factory=Counter)
    endings: Counter[tuple[str, str, str, int]] = field(default_factory=Counter)
    attempted: Counter[int] = field(default_factory=Counter)
    answered: Counter[int] = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    differing: int = 0

    def add(self, api: str, answers: Iterable[Answers], findings: Sequence[Finding]) -> None:
        """Add the results of one recording."""
        self.read[api] += 1
        self.differing += bool(findings)
        self.findings.extend(findings)
        for index, each in enumerate(answers):
            reasons = each.skipped + Counter(
                result.reason or "" for result in each.results if result.verdict == "skipped"
            )
            planned = len(each.results) + each.skipped.total()
            self.trials += planned
            self.attempted[index] += planned - reasons.total()
            self.answered[index] += each.answered
            for reason, count in reasons.items():
                self.skipped[index, reason] += count
            if each.first is not None:
                self.endings[api, *get_ending(each.first[1]), index] += 1

    def make_part(self, examples: int) -> Part:
        """Return the part, with at most `examples` examples per cause."""
        return Part(
            listed=self.listed,
            read=dict(self.read),
            trials=self.trials,
            skipped=dict(self.skipped),
            endings=dict(self.endings),
            attempted=dict(self.attempted),
            answered=dict(self.answered),
            unread=add_unread(self.unread),
            causes=group_findings(self.findings, examples),
            differing=self.differing,
        )


@dataclass(slots=True)
class _Running:
    """A started implementation."""

    plan: ImplementationPlan
    """The plan has no trials, because trials are planned per recording."""
    program: Program
    dispatcher: Dispatcher
    tally: Tally

    def send(self, trials: Iterable[AnyTrial], seconds: float) -> list[Dispatched]:
        """Send as many of `trials` as the program may have at once; return their future answers."""
        sent: list[Dispatched] = []
        for trial in trials:
            if self.dispatcher.is_timed or not self.dispatcher.can_begin(self.program, len(sent)):
                break
            sent.append(self.dispatcher.begin(self.program, trial, seconds))
        return sent

    async def restart(self, seconds: float) -> None:
        """Start a new program if the last one has exited. Raises `ImplementationError`."""
        if self.program.dead:
            await self.program.stop()
            self.program = Program(self.plan.connection)
            await self.program.start(seconds)
