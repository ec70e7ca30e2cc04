"""A limit on idle time: only idle time counts, up to a multiple of the limit, and long waits are reported."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from streamconform.adapters import idle_limit, process
from streamconform.adapters.idle_limit import BUSY_FACTOR, Activity, IdleTooLongError, wait_while_busy
from streamconform.adapters.process import Process

IDLE, RUNNABLE = Activity(5.0), Activity(5.0, is_runnable=True)
STARVED = tuple(Activity(5.0 + 0.01 * number) for number in range(1000))
"""A process that uses 10 ms of CPU per check."""
LIMIT = 0.4


@dataclass(frozen=True)
class Wait:
    """A wait for something that takes `seconds`, and the limit that it exceeds."""

    id: str
    activities: Sequence[Activity | None]
    seconds: float
    exceeded: float | None


WAITS = [
    Wait("in-time", [IDLE], 0.1, None),
    Wait("idle", [IDLE], 60, LIMIT),
    Wait("unknown", [None], 60, LIMIT),
    Wait("starved", STARVED, 3 * LIMIT, None),
    Wait("waits-for-a-core-or-the-disk", [RUNNABLE], 3 * LIMIT, None),
    Wait("always-busy", STARVED, 60, LIMIT * BUSY_FACTOR),
    Wait("first-busy-then-idle", [*STARVED[:6], STARVED[6]], 60, LIMIT),
]


def repeat_last(items: Sequence[Activity | None]) -> Iterator[Activity | None]:
    yield from items
    while True:
        yield items[-1]


@pytest.mark.parametrize("wait", WAITS, ids=[wait.id for wait in WAITS])
def test_only_idle_time_counts_up_to_a_multiple_of_the_limit(wait):
    activities = repeat_last(wait.activities)

    async def run() -> str:
        return await wait_while_busy(asyncio.sleep(wait.seconds, "done"), LIMIT, lambda: next(activities))

    if wait.exceeded is None:
        assert asyncio.run(run()) == "done"
        return
    with pytest.raises(IdleTooLongError) as caught:
        asyncio.run(run())
    assert caught.value.seconds == pytest.approx(wait.exceeded)


def test_a_long_wait_is_reported_once(monkeypatch):
    monkeypatch.setattr(idle_limit, "NOTICE_BUSY_SECONDS", 0.3)
    activities, notices = iter(STARVED), list[str]()
    asyncio.run(wait_while_busy(asyncio.sleep(1), LIMIT, lambda: next(activities), notices.append))
    assert notices == ["busy for 0 s"]


def test_a_late_check_counts_as_two_at_most():
    """A process that was suspended has not read what arrived in the meantime."""

    async def run() -> str:
        loop = asyncio.get_running_loop()
        loop.call_later(0.01, time.sleep, 2 * LIMIT)
        return await wait_while_busy(asyncio.sleep(LIMIT / 2, "done"), LIMIT, lambda: IDLE)

    assert asyncio.run(run()) == "done"


def test_the_activity_of_a_process_includes_its_ended_children():
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}]); print(); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        activity = idle_limit.read_activity([program.pid])
        program.communicate(b"\n")
    assert activity.cpu_seconds >= 0.3
    assert idle_limit.read_activity([program.pid]) == Activity()
    assert idle_limit.read_activity([os.getpid()]).is_runnable


@pytest.mark.parametrize(("is_busy", "stops"), [(True, True), (False, False)], ids=["busy", "idle"])
def test_only_a_program_that_is_busy_gets_more_time_to_stop(monkeypatch, is_busy, stops):
    code = "import sys, time; sys.stdin.readline(); time.sleep(1)"
    activity = RUNNABLE if is_busy else IDLE
    monkeypatch.setattr(process, "read_activity", lambda _: activity)
    monkeypatch.setattr(process, "HAS_PROC", True)

    async def run() -> bool:
        program = Process((sys.executable, "-S", "-c", code), stop_seconds=0.5)
        await program.start(max_line=1000)
        try:
            return await program.stop(b"stop\n", while_busy=True)
        finally:
            await program.kill()

    assert asyncio.run(run()) is stops
