"""The processes of a run share its trials in batches: each trial is run once, and nothing fails silently."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import time
from dataclasses import replace

import pytest

from streamconform.errors import WorkerError
from streamconform.run import worker_process
from streamconform.run.budget import Stopwatch
from streamconform.run.tickets import MAX_TICKETS, PendingTrials, Tickets, divide
from streamconform.run.worker_process import STOP_SECONDS, WorkerProcess

from . import builders

# Python warns of forks in a process with other threads, which a run does not make, but pytest-xdist has some.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def make_trials(cases: int, each: int):
    case = builders.case()
    return [builders.trial(replace(case, id=f"a/b/{number}")) for number in range(cases) for _ in range(each)]


@pytest.mark.parametrize("cases", [0, 1, 2, 7, 8, 9, 100])
@pytest.mark.parametrize("most", [1, 2, 8, MAX_TICKETS])
def test_batches_are_few_and_contain_every_trial_once_with_those_of_its_case(cases, most):
    trials = make_trials(cases, 3)
    batches = divide(trials, most)
    assert len(batches) <= most
    assert [trial for batch in batches for trial in batch] == trials
    assert all(len(batch) % 3 == 0 and batch for batch in batches)
    assert divide(trials, most) == batches


def test_each_ticket_is_taken_once_and_in_the_order_of_the_implementations():
    with contextlib.closing(Tickets()) as tickets:
        tickets.issue([2, 0, 1])
        assert [tickets.take(0) for _ in range(3)] == [0, 1, None]
        assert tickets.take(1) is None
        assert [tickets.take(2) for _ in range(2)] == [0, None]


def test_the_tickets_of_an_implementation_whose_time_is_up_are_dropped():
    with contextlib.closing(Tickets()) as tickets:
        tickets.issue([3, 1])
        assert tickets.take(0) == 0
        assert [tickets.take(1) for _ in range(2)] == [0, None]


def test_the_tickets_of_the_largest_run_do_not_wait_for_a_reader():
    with contextlib.closing(Tickets()) as tickets:
        tickets.issue([MAX_TICKETS])
        assert sum(1 for _ in iter(lambda: tickets.take(0), None)) == MAX_TICKETS


def test_pending_trials_come_from_one_batch_after_the_other():
    batches = divide(make_trials(3, 2), 3)
    with contextlib.closing(Tickets()) as tickets:
        tickets.issue([len(batches)])
        first, second = (PendingTrials(0, batches, tickets, Stopwatch(None, 1)) for _ in range(2))
        taken = []
        while any([first.refill(), second.refill()]):
            taken += [(name, each.take()) for name, each in (("a", first), ("b", second)) if each.refill()]
        first.put_back(batches[0][:1])
        assert first.refill()
        assert first.take() is batches[0][0]
    assert sorted(trial.case.id for _, trial in taken) == [trial.case.id for b in batches for trial in b]
    assert {name for name, _ in taken} == {"a", "b"}


def receive(work):
    """Return the results of a worker process that does `work`."""
    results = []
    with contextlib.closing(WorkerProcess(work, ())) as process:
        process.begin(())
        asyncio.run(process.receive(lambda result, answer: results.append((result, answer))))
    return results


def test_results_of_any_size_arrive_in_order():
    async def work(_, emit):
        for number in range(2000):
            emit("x" * number, b"y")

    assert receive(work) == [("x" * number, b"y") for number in range(2000)]


def test_an_exception_in_a_worker_process_is_raised_with_its_traceback():
    async def work(_, emit):
        emit("a result", None)
        message = "the broken rule"
        raise AssertionError(message)

    with pytest.raises(RuntimeError, match=r"(?s)a worker process failed:.*in work.*the broken rule"):
        receive(work)


def test_a_worker_process_that_ends_without_a_word_is_an_error():
    async def work(_, emit):
        emit("a result", None)
        os._exit(3)

    with pytest.raises(WorkerError, match=r"in the middle of the run \(exit code 3\); if memory"):
        receive(work)


def test_a_worker_process_that_does_not_end_is_killed(monkeypatch):
    async def work(_, __):
        time.sleep(60)  # noqa: ASYNC251 - so that no signal interrupts it between two awaits

    monkeypatch.setattr(worker_process, "STOP_SECONDS", 0.2)
    process = WorkerProcess(work, ())
    process.begin(())
    process.close()
    assert multiprocessing.active_children() == []


def test_a_worker_process_that_never_begins_ends_with_the_run():
    async def work(_, emit):
        raise NotImplementedError

    began = time.monotonic()
    WorkerProcess(work, ()).close()
    assert multiprocessing.active_children() == []
    assert time.monotonic() - began < STOP_SECONDS, "it need not be killed"
