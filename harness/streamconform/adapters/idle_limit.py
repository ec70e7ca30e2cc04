"""Time limits for starting and stopping programs, which count only the time in which a program is idle.

A plain limit cannot tell a program that waits forever from one that needs longer: because it compiles itself
(`cargo run`), imports a large library, or gets little of a busy machine. A program that makes progress uses
CPU or waits for the disk, and `/proc` shows both. Systems without `/proc` get the plain limit.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from streamconform.system import CLOCK_TICKS, PROC

T = TypeVar("T")

BUSY_FACTOR: Final = 5
"""A program that is never idle gets this many times its limit."""
POLL_SECONDS: Final = 1.0
"""How often activity is read; less often would make short limits inaccurate, more often would take CPU."""
BUSY_SHARE: Final = 0.02
"""The share of a core from which a program counts as busy. A starved program gets more than that at fifty
times the load that the machine can handle; an idle one whose runtime polls uses less.
"""
NOTICE_IDLE_SECONDS: Final = 5.0
NOTICE_BUSY_SECONDS: Final = 20.0
"""When a caller is notified of a long wait: sooner if the program is idle, because it may wait forever."""
_RUNNABLE: Final = b"RD"
"""The states of a process that runs or waits for a core (R), or waits for the disk (D)."""


class Activity(Struct, frozen=True):
    """What some processes have done so far, and whether one of them is about to do more."""

    cpu_seconds: float = 0.0
    is_runnable: bool = False

    def is_busy_since(self, earlier: Activity, seconds: float) -> bool:
        """Return whether the processes were busy in the `seconds` since `earlier` was read."""
        # The total drops when a process that is not waited for ends; that is activity too.
        change = abs(self.cpu_seconds - earlier.cpu_seconds)
        return self.is_runnable or change > BUSY_SHARE * seconds


class IdleTooLongError(TimeoutError):
    """The limit is exceeded."""

    def __init__(self, seconds: float) -> None:
        """Store the limit that was exceeded: the one for idle time, or the one for all time."""
        super().__init__()
        self.seconds = seconds


def read_activity(pids: Iterable[int], proc: Path = PROC) -> Activity:
    """Return the activity of the running processes in `pids` and of the ended children they waited for."""
    ticks, is_runnable = 0, False
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended
            # The name before `)` may contain anything. The times are utime, stime, cutime and cstime.
            # Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
            fields = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
            ticks += sum(map(int, fields[11:15]))
            is_runnable = is_runnable or fields[0] in _RUNNABLE
    return Activity(ticks / CLOCK_TICKS, is_runnable)


async def wait_while_busy(
    awaitable: Awaitable[T],
    seconds: float,
    read: Callable[[], Activity | None],
    on_long_wait: Callable[[str], None] | None = None,
) -> T:
    """Return the result of `awaitable`, which a program causes whose activity `read` returns, if it can.

    Raises `IdleTooLongError` after `seconds` in which the program was idle, or `BUSY_FACTOR` times as many
    seconds in all. If the wait is long, `on_long_wait` is called once with a description such as `idle for
    5 s`.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(awaitable)
    step = min(POLL_SECONDS, seconds / 4)
    started = checked = loop.time()
    idle, activity = 0.0, Activity()
    try:
        while True:
            await asyncio.wait({task}, timeout=min(step, seconds - idle))
            if task.done():
                return task.result()
            # At most two steps, because this process may have been busy or suspended itself, and has then
            # not yet read what the program sent in the meantime.
            passed = min(loop.time() - checked, 2 * step)
            checked = loop.time()
            earlier, current = activity, read()
            activity = current or Activity()
            if current is None or not current.is_busy_since(earlier, passed):
                idle += passed
            if idle >= seconds:
                raise IdleTooLongError(seconds)
            if checked - started >= seconds * BUSY_FACTOR:
                raise IdleTooLongError(seconds * BUSY_FACTOR)
            notice = _describe_wait(idle, checked - started)
            if notice and on_long_wait is not None:
                on_long_wait(notice)
                on_long_wait = None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _describe_wait(idle: float, elapsed: float) -> str:
    """Return a description of a long wait; empty if it is not long yet."""
    if idle >= NOTICE_IDLE_SECONDS:
        return f"idle for {idle:.0f} s"
    if elapsed >= NOTICE_BUSY_SECONDS:
        return f"busy for {elapsed:.0f} s"
    return ""
