"""Run a coroutine that Ctrl-C and SIGTERM can interrupt, even while it judges an answer.

A signal cancels the coroutine, but only when the coroutine next waits. Judging never waits, so it runs in
`interrupt_at_once`, where a signal raises an exception instead. There, a timer also ends judging if it takes
too long: matching a pattern in a suite can take years. Both need the main thread, where Python runs signal
handlers.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Coroutine, Iterator
from typing import Any, Final

from streamconform.system import HAS_TIMER, calling_every

TICK_SECONDS: Final = 1.0
"""By how much a time limit may be exceeded."""


class TookTooLongError(Exception):
    """The code in `interrupt_at_once` exceeded its time limit."""


class _Section:
    """The state of the main thread; signal handlers have no other way to find out."""

    is_open = False
    """Whether it is in `interrupt_at_once`."""
    deadline = 0.0
    """When to leave that, in seconds of `time.monotonic`."""
    is_ticking = False
    """Whether the timer is set."""


def run_interruptible(main: Coroutine[Any, Any, None]) -> None:
    """Run `main`, which is canceled by Ctrl-C or by SIGTERM (which CI systems send).

    Raises `KeyboardInterrupt` after `main` has cleaned up.
    """
    try:
        asyncio.run(_cancel_on_signals(main))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


@contextlib.contextmanager
def interrupt_at_once(seconds: float) -> Iterator[None]:
    """Raise `CancelledError` in the block if a signal arrives, or `TookTooLongError` after `seconds`.

    Outside the main thread, and on systems without timers, this has no effect.
    """
    if not _can_tick():
        yield
        return
    with ticking(min(seconds, TICK_SECONDS)):
        _Section.deadline = time.monotonic() + seconds
        _Section.is_open = True
        try:
            yield
        finally:
            _Section.is_open = False


@contextlib.contextmanager
def ticking(seconds: float = TICK_SECONDS) -> Iterator[None]:
    """Check at this interval whether the deadline has passed; inside another such block, do nothing."""
    # One timer for a whole run, because setting one for each answer took a tenth of the judging.
    if _Section.is_ticking or not _can_tick():
        yield
        return
    _Section.is_ticking = True
    try:
        with calling_every(seconds, _check_deadline):
            yield
    finally:
        _Section.is_ticking = False


def _can_tick() -> bool:
    return HAS_TIMER and threading.current_thread() is threading.main_thread()


def _check_deadline(*_: object) -> None:
    if _Section.is_open and time.monotonic() >= _Section.deadline:
        _Section.is_open = False
        raise TookTooLongError


async def _cancel_on_signals(main: Coroutine[Any, Any, None]) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "a running coroutine has a task"
    on_sigint = signal.getsignal(signal.SIGINT)  # asyncio's, which first cancels, then raises

    def handle_sigterm(*_: object) -> None:
        # SIGINT is not raised here, because background jobs of a shell script ignore it.
        loop.call_soon_threadsafe(task.cancel)
        _leave_section()

    def handle_sigint(number: int, frame: Any) -> None:
        if callable(on_sigint):
            on_sigint(number, frame)
            _leave_section()

    previous = signal.signal(signal.SIGTERM, handle_sigterm)
    if callable(on_sigint):
        signal.signal(signal.SIGINT, handle_sigint)
    try:
        with ticking():
            await main
    finally:
        signal.signal(signal.SIGTERM, previous)
        if callable(on_sigint):
            signal.signal(signal.SIGINT, on_sigint)


def _leave_section() -> None:
    if _Section.is_open:
        _Section.is_open = False
        raise asyncio.CancelledError
