"""A program asked for a trial by its input: bytes with the run, pushed behind it, or from our server."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from streamconform.adapters.feed import Feed, Gate
from streamconform.adapters.interface import Answer, Hang, Observation, Output
from streamconform.adapters.program import Collateral, Program
from streamconform.judge.compare import FAILED_VERDICT
from streamconform.judge.judge import FirstDelta, Judgement, decide_verdict
from streamconform.model.trial import AnyTrial, Call, RoundTrip, Trial
from streamconform.model.verdict import Check
from streamconform.run.plan import Judged

if TYPE_CHECKING:
    from streamconform.adapters.in_process import Inside
    from streamconform.replay.exchange import TrialExchange
    from streamconform.replay.server import ReplayServer


@dataclass(slots=True)
class Asker:
    """Asks the programs of one implementation."""

    judged: Judged
    first_delta: FirstDelta
    server: ReplayServer | None = None
    live: bool | None = None
    """Whether its events come one by one; None until it was seen."""

    async def ask(
        self, program: Program | Inside, trial: AnyTrial, seconds: float
    ) -> tuple[Answer | Collateral, TrialExchange | None]:
        """Return the answer of `program` to `trial`, and over HTTP what it asked the server."""
        events = "events" in self.judged.greeting.claims(trial.case.api)
        if not isinstance(trial, Trial):
            return await self._conversed(program, trial, seconds)
        if self.judged.input == "bytes":
            return await program.ask(trial, seconds, events=events), None
        gate = self._gate(trial) if events and self.live is not False else None
        server = self.server if self.judged.input == "http" else None
        with server.exchange(trial, gate) if server is not None else nullcontext() as exchange:
            feed = Feed(self.judged.input, exchange.base_url if exchange is not None else None, gate)
            answer = await program.ask(trial, seconds, events=events, feed=feed)
        if gate is not None and isinstance(answer, Observation) and answer.events:
            self.live = gate.seen > 0
        return answer, exchange

    async def _conversed(
        self, program: Program | Inside, trial: Call | RoundTrip, seconds: float
    ) -> tuple[Answer | Collateral, TrialExchange | None]:
        """Return the answer to a call, or over HTTP what was sent for a conversation."""
        of_requests = isinstance(trial, RoundTrip) or trial.case.kind == "request"
        server = self.server if self.judged.input == "http" and of_requests else None
        if server is None:
            return await program.ask(trial, seconds, events=False), None
        with server.exchange(trial) as exchange:
            answer = await program.ask(trial, seconds, events=False, feed=Feed("http", exchange.base_url))
        sent = exchange.sent_requests
        if isinstance(answer, Observation):
            answer = replace(answer, requests=sent)
            if isinstance(trial, Call) and sent:
                answer = Output(sent[0])  # which is what the function would have returned
        return answer, exchange

    def _gate(self, trial: Trial) -> Gate | None:
        """Return the gate before the last chunk; None where the first delta cannot come out before it."""
        if trial.delivery != "recorded" or len(trial.chunks) < 2:
            return None
        ends = self.first_delta(trial)
        begins = sum(map(len, itertools.islice(trial.chunks, len(trial.chunks) - 1)))
        return Gate(len(trial.chunks)) if ends is not None and ends <= begins else None


def over_http(judgement: Judgement, exchange: TrialExchange, answer: Answer) -> Judgement:
    """Return `judgement` with what the server saw: why nothing can be judged, or what was wrong.

    What is as expected, though nobody asked for it, does not pass: it was not read. A client that tells
    of an error then may have refused to send the request at all, which says nothing of how it reads.
    """
    if isinstance(exchange.trial, Call):
        return _of_request(judgement, exchange, answer)
    if exchange.mismatch is not None and isinstance(answer, Observation):
        return Judgement("skipped", None, reason=exchange.mismatch)
    complaint = exchange.complaint
    if isinstance(answer, Observation) and judgement.verdict in ("pass", "warn") and not exchange.answered:
        if isinstance(answer.outcome, Mapping) and answer.outcome.get("status") == "error":
            return Judgement("skipped", None, reason=f"the client failed by itself: {complaint}")
        return Judgement("faulted", "adapter", reason=f"not-asked: it answered, but {complaint}")
    if (
        isinstance(exchange.trial, RoundTrip)
        and isinstance(answer, Observation)
        and not exchange.model_requests
    ):
        return _unasked(answer, exchange)
    if judgement.verdict == "pass":
        return judgement
    told = [judgement.reason, complaint]
    if isinstance(answer, Hang) and exchange.answered:
        told.append(exchange.progress)
    words = "; ".join(each for each in told if each is not None)
    return replace(judgement, reason=words or None)


def _of_request(judgement: Judgement, exchange: TrialExchange, answer: Answer) -> Judgement:
    """Return the judgement on the first request for the model; who sent none may have refused to."""
    if isinstance(answer, Observation):
        return _unasked(answer, exchange)
    count = len(exchange.model_requests)
    if isinstance(answer, Output) and judgement.verdict != "pass" and count > 1:
        return replace(judgement, reason=f"{count} requests came, the first is judged")
    return judgement


def _unasked(answer: Observation, exchange: TrialExchange) -> Judgement:
    """Return the judgement on who sent nothing: the client refused, where it tells of an error."""
    outcome, level = answer.outcome, exchange.trial.level
    if not (isinstance(outcome, Mapping) and outcome.get("status") == "error"):
        words = f"not-asked: it answered, but {exchange.complaint}"
        return Judgement("faulted", "adapter", reason=words)
    error = outcome.get("error")
    said = error.get("message") if isinstance(error, Mapping) else None
    path = "request.body" if isinstance(exchange.trial, RoundTrip) else "body"
    message = f"it was not sent: {said or exchange.complaint}"
    refused = Check(path=path, level=level, verdict=FAILED_VERDICT[level], expected={}, message=message)
    reason = None if said else exchange.complaint
    return Judgement(decide_verdict([refused]), "implementation", (refused,), reason=reason)


def with_requests(told: Mapping[str, Any] | None, exchange: TrialExchange | None) -> Mapping[str, Any] | None:
    """Return what results keep of an answer, with the requests that the server got."""
    if exchange is None:
        return told
    return {**(told or {}), "requests": exchange.describe_requests()}
