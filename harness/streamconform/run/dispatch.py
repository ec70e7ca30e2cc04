"""Send a trial to a program in its input mode: all bytes at once, chunk by chunk, or over HTTP."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field, to_builtins

from streamconform.adapters.feed import Feed, Gate
from streamconform.adapters.interface import Answer, Hang, Observation, Output, ServerRecord
from streamconform.adapters.program import Collateral, Program
from streamconform.judge.compare import FAILED_VERDICT
from streamconform.judge.judge import FirstDelta, Judgement, decide_verdict
from streamconform.model.case import Counts
from streamconform.model.result import CRASHED, REFUSED, Raised
from streamconform.model.trial import AS_IS, AnyTrial, Behavior, Call, RoundTrip, Trial
from streamconform.model.verdict import Check
from streamconform.run.grown import is_grown, measure
from streamconform.run.plan import ImplementationPlan
from streamconform.run.refusal import is_refusal
from streamconform.run.round_trip import play
from streamconform.run.turns import Turns

if TYPE_CHECKING:
    from streamconform.adapters.in_process import InProcessAdapter
    from streamconform.replay.scripted import ScriptedExchange
    from streamconform.replay.server import ReplayServer

Dispatched = (
    asyncio.Future[Answer | Collateral] | asyncio.Future[tuple[Answer | Collateral, ServerRecord | None]]
)
"""A future answer, over HTTP together with what the server saw."""


BARRIERS: Final = 2
"""The number of complete answers that a client reads between its answer about an abort and the verdict."""


class Dispatcher(Struct):
    """Sends trials to the programs of one implementation."""

    plan: ImplementationPlan
    first_delta: FirstDelta
    server: ReplayServer | None = None
    live: bool | None = None
    """Whether the program sends events one by one; None until the first answer."""
    turns: Turns = field(default_factory=Turns)
    patience: int = 15
    """How many times the time limit a trial may take in which a client waits to retry, or reads a lot."""

    @property
    def is_timed(self) -> bool:
        """Return whether a delay in this process changes answers: a client's timeout, or the gate's."""
        return self.plan.input != "bytes" or self.plan.is_measured

    def can_begin(self, program: Program, running: int) -> bool:
        """Return whether `program`, which has `running` trials, may get another one."""
        return not program.dead if not running else not self.is_timed and program.can_queue()

    def begin(self, program: Program, trial: AnyTrial, seconds: float) -> Dispatched:
        """Send `trial` and return its future answer; after a fault, the caller stops `program`."""
        calls = _split_counts(trial)
        if self.is_timed or isinstance(trial, RoundTrip) or (calls and not program.answers_in_order):
            return asyncio.create_task(self.dispatch(program, trial, seconds))
        if calls is None:
            return program.submit(trial, seconds, events=self._wants_events(trial))
        # All at once, so that the program gets the runs of one trial after those of the other.
        answers = [program.submit(call, seconds, events=False) for call in calls]
        return asyncio.create_task(_join_outputs(answers))

    async def dispatch(
        self, program: Program | InProcessAdapter, trial: AnyTrial, seconds: float
    ) -> tuple[Answer | Collateral, ServerRecord | None]:
        """Return `program`'s answer to `trial` and, over HTTP, what the server saw."""
        if not (isinstance(trial, Trial) and is_grown(trial) and isinstance(program, Program)):
            return await self._dispatch(program, trial, seconds)
        size = sum(map(len, trial.chunks))  # made before the client waits for them
        program.reset_peak()
        before = program.read_activity()
        answer, server = await self._dispatch(program, trial, seconds)
        if isinstance(answer, Observation):
            answer = replace(answer, resources=measure(size, program, before))
        return answer, server

    async def _dispatch(
        self, program: Program | InProcessAdapter, trial: AnyTrial, seconds: float
    ) -> tuple[Answer | Collateral, ServerRecord | None]:
        if isinstance(trial, Behavior):
            return await self._dispatch_behavior(program, trial, seconds)
        if not isinstance(trial, Trial):
            return await self._dispatch_conversation(program, trial, seconds)
        events = self._wants_events(trial)
        # The run message contains all chunks, so there is no server and nothing to hold back.
        if self.plan.input == "bytes":
            return await program.run(trial, seconds, events=events), None
        # An implementation that sends its events with the result gains nothing from a gate: it would wait for
        # the gate's timeout in every trial.
        gate = await self._create_gate(trial) if events and self.live is not False else None
        server = self.server if self.plan.input == "http" else None
        async with self.turns.serve():
            with server.exchange(trial, gate) if server is not None else nullcontext() as exchange:
                feed = Feed(self.plan.input, exchange.base_url if exchange is not None else None, gate)
                answer = await program.run(trial, seconds, events=events, feed=feed)
        if exchange is not None and exchange.continued and isinstance(answer, Observation):
            answer = replace(answer, continued=True)
        if gate is not None and isinstance(answer, Observation) and answer.events:
            self.live = gate.events_seen > 0
        return answer, exchange.summarize() if exchange is not None else None

    async def _dispatch_conversation(
        self, program: Program | InProcessAdapter, trial: Call | RoundTrip, seconds: float
    ) -> tuple[Answer | Collateral, ServerRecord | None]:
        """Return the answer to a function call or, over HTTP, the requests sent for a conversation."""
        judges_requests = isinstance(trial, RoundTrip) or trial.case.kind == "request"
        server = self.server if self.plan.input == "http" and judges_requests else None
        if server is None:
            if isinstance(trial, RoundTrip):
                return await play(trial, lambda part: program.run(part, seconds, events=False)), None
            calls = _split_counts(trial)
            if calls is not None:
                return await _join_outputs(program.run(call, seconds, events=False) for call in calls), None
            return await program.run(trial, seconds, events=False), None
        async with self.turns.serve():
            with server.exchange(trial) as exchange:
                feed = Feed("http", exchange.base_url)
                answer = await program.run(trial, seconds, events=False, feed=feed)
        sent = exchange.sent_requests
        if isinstance(answer, Observation):
            answer = replace(answer, requests=sent)
            if isinstance(trial, Call) and sent:
                # The first request is what `build_request` would have returned, so the same checks apply, and
                # known failures match under either input.
                answer = Output(sent[0])
        return answer, exchange.summarize()

    async def _dispatch_behavior(
        self, program: Program | InProcessAdapter, trial: Behavior, seconds: float
    ) -> tuple[Answer | Collateral, ServerRecord | None]:
        """Return the answer to a trial about behavior, and what happened on its connections."""
        assert self.server is not None, "such a trial needs HTTP"
        async with self.turns.serve():
            control = trial.case.control
            seconds *= self.patience if control.retries or control.pause or control.at_once else 1
            with self.server.perform(trial, seconds) as exchange:
                feed = Feed("http", exchange.base_url)
                answer = await program.run(trial, seconds, events=False, feed=feed)
                exchange.note_answer()
                if trial.case.expect.closed and isinstance(answer, Observation):
                    await self._run_barrier(program, trial.barrier, seconds, exchange)
        record = exchange.summarize()
        return replace(answer, log=record.log) if isinstance(answer, Observation) else answer, record

    async def _run_barrier(
        self,
        program: Program | InProcessAdapter,
        trial: Trial,
        seconds: float,
        exchange: ScriptedExchange,
    ) -> None:
        """Let the client read complete answers, in which it has closed what it closes later than at once."""
        assert self.server is not None, "such a trial needs HTTP"
        for _ in range(BARRIERS):
            with self.server.exchange(trial) as other:
                feed = Feed("http", other.base_url)
                answer = await program.run(trial, seconds, events=False, feed=feed)
            exchange.note("barrier")
            if not isinstance(answer, Observation):
                break
        await exchange.conclude()

    def _wants_events(self, trial: AnyTrial) -> bool:
        if not isinstance(trial, Trial):
            return False
        return (
            trial.case.stream
            and not is_grown(trial)
            and "events" in self.plan.greeting.claims(trial.case.api)
        )

    async def _create_gate(self, trial: Trial) -> Gate | None:
        """Return the gate before the last chunk, or None if no delta is possible before that chunk."""
        if trial.delivery != AS_IS or len(trial.chunks) < 2:
            return None
        await self.turns.wait_to_judge()  # the first call imports the reference
        delta_end = self.first_delta(trial)
        last_start = sum(map(len, itertools.islice(trial.chunks, len(trial.chunks) - 1)))
        return Gate(len(trial.chunks)) if delta_end is not None and delta_end <= last_start else None


def _split_counts(trial: AnyTrial) -> tuple[Call, ...] | None:
    """Return a call for each input of a case that counts tokens, or None for other trials."""
    if isinstance(trial, Call) and isinstance(trial.case.expect, Counts):
        return tuple(Call(replace(trial.case, input=value)) for value in trial.case.input)
    return None


async def _join_outputs(answers: Iterable[Awaitable[Answer | Collateral]]) -> Answer | Collateral:
    """Return a list with the results, or the first answer that is not a result."""
    results: list[Any] = []
    for pending in answers:
        answer = await pending
        if not isinstance(answer, Output):
            return answer
        results.append(answer.value)
    return Output(results)


def apply_http_checks(
    judgement: Judgement, trial: AnyTrial, answer: Answer, server: ServerRecord
) -> Judgement:
    """Return `judgement`, adjusted for the requests that the server received or did not receive.

    The expected outcome does not pass if the client never fetched the stream. If the client refuses to send
    the request, or reports an error that passes, that reveals nothing about its parser, so the trial is
    skipped. The checks of a refused trial are kept, because it fails if no other trial of the API got a
    request.
    """
    if isinstance(trial, Call) and not isinstance(answer, Observation):
        return _explain_more_requests(judgement, answer, server)
    changed = (
        _judge_observation(judgement, trial, answer, server) if isinstance(answer, Observation) else None
    )
    # A complaint without consequences, such as one about a retry, is not shown.
    if changed is not None or judgement.verdict == "pass":
        return changed or judgement
    reasons = [judgement.reason, server.complaint]
    if isinstance(answer, Hang) and server.answered:
        reasons.append(server.progress)
    return replace(judgement, reason="; ".join(reason for reason in reasons if reason is not None) or None)


def _judge_observation(
    judgement: Judgement, trial: AnyTrial, answer: Observation, server: ServerRecord
) -> Judgement | None:
    """Return the judgement that replaces `judgement` because of the requests, or None."""
    # This takes precedence over any judgement of the answer: the client never got the recording.
    if server.mismatch is not None:
        return Judgement("skipped", None, reason=server.mismatch)
    if isinstance(trial, Behavior):
        return None if server.model_requests else _judge_answer_without_request(server)
    if isinstance(trial, Call):
        return _judge_missing_request(answer, trial, server)
    if server.wants_wrong_form:
        return Judgement("faulted", "adapter", reason=server.complaint)
    if isinstance(trial, Trial) and answer.raised and not server.reached:
        raised = _format_raised(answer.raised)
        if is_refusal(answer.raised):
            return replace(judgement, verdict="skipped", culprit=None, reason=f"{REFUSED}: {raised}")
        if judgement.verdict == "fail":
            return replace(judgement, reason=f"{CRASHED}: {raised}; {server.complaint}")
    if not server.answered and judgement.verdict in ("pass", "warn"):
        return _judge_unread_stream(answer, server)
    if isinstance(trial, RoundTrip) and not server.model_requests:
        return _judge_missing_request(answer, trial, server)
    if not server.answered and server.requests:
        # This server answered every request with an error, so nothing is known about the client's parser.
        return Judgement("faulted", "adapter", reason=f"not-asked: {server.complaint}")
    return None


def _judge_unread_stream(answer: Observation, server: ServerRecord) -> Judgement:
    """Return the verdict for an answer that passes although the client never got the stream."""
    if not _reports_error(answer):
        return _judge_answer_without_request(server)
    exception = f"{_format_raised(answer.raised)}; " if answer.raised is not None else ""
    reason = f"the client reported its own error: {exception}{server.complaint}"
    return Judgement("skipped", None, reason=reason)


def _explain_more_requests(judgement: Judgement, answer: Answer, server: ServerRecord) -> Judgement:
    """Return `judgement` on the first request to the model; if it fails, the reason counts all of them."""
    count = server.model_requests
    if isinstance(answer, Output) and judgement.verdict != "pass" and count > 1:
        return replace(judgement, reason=f"{count} requests received; only the first is judged")
    return judgement


def _judge_missing_request(answer: Observation, trial: AnyTrial, server: ServerRecord) -> Judgement:
    """Return the verdict for a client that sent no request: fail if it reports an error, else faulted."""
    level = trial.level
    if not _reports_error(answer):
        return _judge_answer_without_request(server)
    error = answer.outcome.get("error")
    error_message = error.get("message") if isinstance(error, Mapping) else None
    if answer.raised is not None:
        error_message = _format_raised(answer.raised)
    path = f"{trial.case.request_names[0]}.body" if isinstance(trial, RoundTrip) else "body"
    message = f"no request was sent: {error_message or server.complaint}"
    check = Check(path=path, level=level, verdict=FAILED_VERDICT[level], expected={}, message=message)
    reason = None if error_message else server.complaint
    return Judgement(decide_verdict([check]), "implementation", (check,), reason=reason)


def _reports_error(answer: Observation) -> bool:
    return isinstance(answer.outcome, Mapping) and answer.outcome.get("status") == "error"


def _judge_answer_without_request(server: ServerRecord) -> Judgement:
    return Judgement("faulted", "adapter", reason=f"not-asked: it answered, but {server.complaint}")


def _format_raised(raised: Raised) -> str:
    return f"{raised.type}: {raised.message}"


def add_requests(
    observation: Mapping[str, Any] | None, server: ServerRecord | None
) -> Mapping[str, Any] | None:
    """Return a result's `observation` with the requests that the server received, and the log of a script."""
    if server is None:
        return observation
    log = {"server": [to_builtins(entry) for entry in server.log]} if server.log else {}
    return {**(observation or {}), **log, "requests": list(server.requests)}
