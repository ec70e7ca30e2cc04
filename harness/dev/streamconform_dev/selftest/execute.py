"""Run mutants in forked workers, and judge each distinct answer to a trial once.

Most mutants give the same answer to most trials, because each has only one bug. Judging is pure, so equal
answers to the same trial get equal verdicts. An answer is the line that a program would send in protocol v1.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import signal
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, islice
from typing import Any, Final

from streamconform.adapters import host, json_line, protocol
from streamconform.adapters.connect import connect
from streamconform.adapters.interface import Answer, Hang, ProtocolFault
from streamconform.adapters.program import Collateral
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial, Behavior, Call, RoundTrip, Trial
from streamconform.run.blame import Blame
from streamconform.run.plan import ImplementationPlan, plan_implementation
from streamconform.run.pool import build_result
from streamconform.run.round_trip import play
from streamconform_dev.selftest.behavior import judge_behavior

Adapter = Callable[[Any], Any]
Task = Callable[[], list[TrialResult]]
"""Runs mutants in a worker, and returns the results that are not as expected."""

REQUEST_ID: Final = "1"
TRIALS_PER_TASK: Final = 40
"""The number of trials per worker task; the trials of one case stay together."""
NO_BLAME: Final = Blame(None)


class TimedOut(BaseException):
    """A mutant ran out of time. No mutant may catch this exception."""


@dataclass(frozen=True, slots=True)
class Group:
    """Mutants that make the same claims, and the plan for their trials."""

    adapters: Mapping[str, Adapter]
    plan: ImplementationPlan

    @property
    def case_ids(self) -> tuple[str, ...]:
        """Return the case ids of these trials, in result order."""
        trials = (*self.plan.trials, *(trial for trial, _ in self.plan.skipped))
        return tuple(sorted({trial.case.id for trial in trials}, key=split_id))


def make_group(adapters: Mapping[str, Adapter], trials: Sequence[AnyTrial]) -> Group:
    """Return a group of these mutants, all of which make the same claims."""
    name, adapter = next(iter(adapters.items()))
    impl = f"mutant:{name}"
    greeting = protocol.parse_greeting(json.dumps(host.build_greeting(adapter, impl)).encode(), impl)
    in_order = sorted(trials, key=lambda trial: split_id(trial.case.id))
    return Group(adapters, plan_implementation(0, connect(impl), greeting, in_order))


def split_id(case_id: str) -> list[str]:
    """Return the sort key for a case id, which keeps the cases of a topic together."""
    return case_id.split("/")


def run_groups(groups: Sequence[Group], workers: int, seconds: float) -> list[list[TrialResult]]:
    """Return each group's results, without those that are as expected.

    Their `implementation` is an index into `adapters`. Each mutant gets `seconds` per trial.
    """
    return run_tasks(
        [
            [partial(_judge_trials, group, trials, seconds) for trials in divide(group.plan.trials)]
            for group in groups
        ],
        workers,
    )


def run_tasks(groups: Sequence[Sequence[Task]], workers: int) -> list[list[TrialResult]]:
    """Return what each group's tasks return, in order."""
    tasks = [task for of_group in groups for task in of_group]
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), _start_worker, (tasks,)) as pool:
        found = pool.map(_run_task, range(len(tasks)))
        return [[*chain.from_iterable(islice(found, len(of_group)))] for of_group in groups]


_TASKS: Final[list[Task]] = []
"""In a worker, the tasks, which it inherits from the parent process."""
_HUNG: Final[set[str]] = set()
"""In a worker, the mutants that timed out; they get no more trials, which could take hours."""


def _start_worker(tasks: Sequence[Task]) -> None:
    _TASKS[:] = tasks
    signal.signal(signal.SIGALRM, raise_timed_out)


def _run_task(index: int) -> list[TrialResult]:
    return _TASKS[index]()


def divide(trials: Sequence[AnyTrial]) -> Iterator[range]:
    """Yield the positions of the trials in each task."""
    start = end = 0
    for _, of_case in groupby(trials, lambda trial: trial.case.id):
        end += sum(1 for _ in of_case)
        if end - start >= TRIALS_PER_TASK:
            yield range(start, end)
            start = end
    if start < end:
        yield range(start, end)


def _judge_trials(group: Group, positions: range, seconds: float) -> list[TrialResult]:
    return [
        result
        for position in positions
        for result in judge_trial(group, group.plan.trials[position], seconds)
    ]


def judge_trial(
    group: Group, trial: AnyTrial, seconds: float, names: Container[str] | None = None
) -> Iterator[TrialResult]:
    """Yield the result of `trial` for each mutant in `group` whose answer differs, if only in a `may`.

    With `names`, only those mutants run.
    """
    if isinstance(trial, RoundTrip):
        yield from _judge_round_trip(group, trial, seconds, names)
        return
    if isinstance(trial, Behavior):
        yield from judge_behavior(group, trial, names)
        return
    events = "events" in group.plan.greeting.claims(trial.case.api) and not (
        isinstance(trial, Trial) and not trial.case.stream
    )
    request = protocol.encode_request(REQUEST_ID, trial, events=events)
    judged: dict[bytes | None, TrialResult] = {}
    for index, (name, adapter) in enumerate(group.adapters.items()):
        if names is not None and name not in names:
            continue
        line = None if name in _HUNG else answer_request(adapter, request, seconds)
        if line is None:
            _HUNG.add(name)
        if line not in judged:
            answer = Hang(seconds) if line is None else parse_answer(line)
            judged[line] = build_result(group.plan, trial, answer, None, 0.0, NO_BLAME)
        if judged[line].verdict != "pass" or judged[line].checks:
            yield replace(judged[line], implementation=index)


def _judge_round_trip(
    group: Group, trial: RoundTrip, seconds: float, names: Container[str] | None
) -> Iterator[TrialResult]:
    """Yield the same for round trips, in which each mutant's answers lead to its next request."""
    for index, (name, adapter) in enumerate(group.adapters.items()):
        if names is not None and name not in names:
            continue
        answer = asyncio.run(play(trial, partial(_answer_part, adapter, seconds)))
        assert not isinstance(answer, Collateral), "no other trial runs at the same time"
        result = build_result(group.plan, trial, answer, None, 0.0, NO_BLAME)
        if result.verdict != "pass" or result.checks:
            yield replace(result, implementation=index)


async def _answer_part(adapter: Adapter, seconds: float, part: Trial | Call) -> Answer:
    line = answer_request(adapter, protocol.encode_request(REQUEST_ID, part, events=False), seconds)
    return Hang(seconds) if line is None else parse_answer(line)


def answer_request(adapter: Adapter, request: bytes, seconds: float) -> bytes | None:
    """Return the result line of `adapter`, or None if SIGALRM raises `TimedOut` after `seconds`."""
    message = json_line.loads(request)  # read again for each mutant, because a mutant may change it

    def build() -> dict[str, Any]:
        if message["op"] == "call":
            return host.build_call_result(adapter, message)
        return host.build_run_result(adapter, message, lambda _: None)

    # A signal, because Python cannot stop a thread that does not return.
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return host.encode_result(adapter, message, build, (KeyboardInterrupt, TimedOut))
    except TimedOut:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def raise_timed_out(*_: object) -> None:
    """Handle SIGALRM: end the adapter that is running."""
    raise TimedOut


def parse_answer(line: bytes) -> Answer:
    """Return the answer in a result line."""
    try:
        reply = protocol.parse_reply(line)
    except protocol.ProtocolError as fault:
        return ProtocolFault(fault.kind, fault.message)
    assert isinstance(reply, protocol.ResultLine), "the line is a result"
    return reply.answer
