"""A trial and what came back to checks, verdict and culprit. Pure; the only place that decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from streamconform.adapters.interface import (
    Answer,
    Errored,
    Hang,
    Observation,
    Output,
    ProtocolFault,
    Skipped,
)
from streamconform.judge import decode, invariants, proxy_expectation
from streamconform.judge.compare import FAILED, check, client_calls, compare
from streamconform.judge.partial import compare_partial
from streamconform.judge.request import compare_request
from streamconform.judge.round_trip import checks_of_round_trip
from streamconform.model.capability import CALLED, Capability, Claims
from streamconform.model.case import AnyCase, CallCase, Level, RoundTripCase
from streamconform.model.event import BlockDelta, Event
from streamconform.model.outcome import Outcome
from streamconform.model.request import RequestExpectation
from streamconform.model.trial import AnyTrial, Call, RoundTrip, Trial
from streamconform.model.verdict import Check, Culprit, Verdict
from streamconform.schemas import find_problems

FirstDelta = Callable[[Trial], int | None]
"""The offset at which the frame ends that holds the first delta of a body; None where nobody knows."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one trial; `checks` are those that did not pass."""

    verdict: Verdict
    culprit: Culprit | None
    checks: tuple[Check, ...] = ()
    passed: int = 0
    reason: str | None = None


def not_claimed(case: AnyCase, claims: Claims) -> str | None:
    """Return why the whole case is skipped for an implementation with `claims`, or None."""
    if isinstance(case, CallCase):
        need = CALLED[case.kind][1]
        return None if need in claims else f"{need} is not claimed"
    if isinstance(case, RoundTripCase):
        needed: tuple[Capability, ...] = ("requests", "tool_calls")
        calls = len(case.results)
    else:
        needed, calls = (), client_calls(case.expect)
    if calls > 1:
        needed = (*needed, "parallel_tool_calls")
    missing = next((each for each in needed if each not in claims), None)
    return None if missing is None else f"{missing} is not claimed"


def judge(trial: AnyTrial, answer: Answer, claims: Claims, first_delta: FirstDelta) -> Judgement:
    """Return the judgement on `answer`, what an implementation with `claims` said to `trial`."""
    match answer:
        case Observation() | Output():
            return _answered(trial, answer, claims, first_delta)
        case Skipped(reason):
            words = f"skipped what it claims: {reason}"
            return Judgement("fail", "adapter", reason=words)
        case Errored(message):
            return Judgement("faulted", "adapter", reason=message)
        case ProtocolFault(kind, message):
            return Judgement("faulted", "adapter", reason=f"{kind}: {message}")
        case Hang(seconds):
            words = f"no answer in {seconds:g} s; is stdout flushed? `--timeout` waits longer"
            return Judgement("hang", "implementation", reason=words)


def checks_of(
    trial: Trial, seen: Observation, claims: Claims, first_delta: FirstDelta
) -> tuple[list[Check], Culprit]:
    """Return every check of an observation, those that passed too, and whose fault the others are.

    An answer that is not in the normal form gets one check only: nothing else can be judged then, and
    the adapter is to be mended.
    """
    try:
        outcome = decode.outcome(seen.outcome)
    except decode.Malformed:
        return [_malformed(trial, "outcome-schema", find_problems("outcome.v1", seen.outcome))], "adapter"
    events: Sequence[Event] | None = None
    if "events" in claims:
        if seen.events is None:
            return [_malformed(trial, "event-schema", ("events are claimed, but none came",))], "adapter"
        try:
            events = decode.events(seen.events)
        except decode.Malformed:
            return [_malformed(trial, "event-schema", _event_problems(seen.events))], "adapter"
    checks = [*compare(trial.expect, outcome, claims, trial.level)]
    checks += compare_partial(trial.expect, outcome.content, claims, trial.level)
    checks += _invariants(trial, outcome, events, claims)
    checks += proxy_expectation.rules(trial, seen.deviations)
    # of a broken stream nothing is asked here: a call whose name never came was not to be shown
    whole = trial.expect.partial is None and not (trial.through and trial.through.held)
    if whole and events is not None and seen.taken is not None and len(seen.taken) == len(events):
        checks.append(_streaming(trial, events, seen.taken, first_delta))
    return checks, "implementation"


def checks_of_output(call: Call, got: Any) -> list[Check]:
    """Return the checks of a call: of what its function returned, of a request one for each leaf."""
    expect = call.case.expect
    if isinstance(expect, RequestExpectation):
        return [*compare_request(call.case.api or "", expect, got, call.level)]
    return [check("output", expect, got, call.level)]


def _answered(
    trial: AnyTrial, answer: Observation | Output, claims: Claims, first_delta: FirstDelta
) -> Judgement:
    match trial, answer:
        case Trial(), Observation():
            checks, culprit = checks_of(trial, answer, claims, first_delta)
        case Call(), Output(value):
            checks, culprit = checks_of_output(trial, value), "implementation"
        case RoundTrip(), Observation():
            checks, culprit = checks_of_round_trip(trial, answer, claims)
        case _:
            asked = "call has an `output`" if isinstance(trial, Call) else "run has an `outcome`"
            return Judgement("faulted", "adapter", reason=f"not-a-message: the answer to a {asked}")
    failed = tuple(each for each in checks if each.verdict != "pass")
    return Judgement(verdict_of(checks), culprit if failed else None, failed, len(checks) - len(failed))


def _invariants(
    trial: Trial, outcome: Outcome, events: Sequence[Event] | None, claims: Claims
) -> Iterator[Check]:
    if "tool_calls" in claims or "provider_tools" in claims:
        yield _rule(trial, "unique-ids", invariants.unique_ids(outcome))
    if events is not None:
        for name, rule in invariants.EVENT_RULES.items():
            yield _rule(trial, name, rule(outcome, events))


def _streaming(trial: Trial, events: Sequence[Event], taken: Sequence[int], first_delta: FirstDelta) -> Check:
    """Return the check that the first delta comes out before the last chunk goes in.

    It holds too where the frame of that delta ends in the last chunk.
    """
    if len(trial.chunks) == 1:
        return _rule(trial, "streaming", None)
    deltas = (n for event, n in zip(events, taken, strict=True) if isinstance(event, BlockDelta))
    ends = first_delta(trial) if next(deltas, 0) >= len(trial.chunks) else None
    if ends is None:
        return _rule(trial, "streaming", None)
    last_begins = sum(map(len, trial.chunks[:-1]))
    message = (
        f"the first delta came out after all {len(trial.chunks)} chunks had gone in; "
        f"its frame ends at byte {ends}, the last chunk begins at {last_begins}"
    )
    return _rule(trial, "streaming", message if ends <= last_begins else None)


def _rule(trial: Trial, name: str, message: str | None) -> Check:
    if message is None:
        return _held(name, trial.level)
    return Check(path=f"invariant.{name}", level=trial.level, verdict=FAILED[trial.level], message=message)


@cache
def _held(name: str, level: Level) -> Check:
    """Return the check of a rule that holds; there are many, and they are all the same."""
    return Check(path=f"invariant.{name}", level=level, verdict="pass")


def _malformed(trial: Trial, name: str, messages: tuple[str, ...]) -> Check:
    return _rule(trial, name, "; ".join(messages) or "not in the normal form")


def verdict_of(checks: Sequence[Check]) -> Verdict:
    """Return the verdict that `checks` amount to: a `may` that differs is recorded and passes."""
    verdicts = {check.verdict for check in checks}
    return "fail" if "fail" in verdicts else "warn" if "warn" in verdicts else "pass"


def _event_problems(events: Any) -> tuple[str, ...]:
    if not isinstance(events, list):
        return ("events are not a list",)
    found: Iterator[str] = (
        f"event {i}: {message}"
        for i, event in enumerate(events)
        for message in find_problems("event.v1", event)
    )
    return tuple(message for message, _ in zip(found, range(5), strict=False))


def observation_json(answer: Answer) -> Mapping[str, Any] | None:
    """Return what results keep of an answer that did not pass."""
    match answer:
        case Observation(outcome, events, first=first, requests=requests):
            beside = {"events": events, "first": first, "sent": list(requests) or None}
            return {"outcome": outcome} | {key: each for key, each in beside.items() if each is not None}
        case Output(value):
            return {"output": value}
        case Errored(_, traceback) if traceback:
            return {"traceback": traceback}
        case _:
            return None
