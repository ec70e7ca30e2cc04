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
from collections.abc import Coroutine, Iterator
from typing import Any, Final

_HAS_TIMER: Final = hasattr(signal, "setitimer")


class TookTooLongError(Exception):
    """The code in `interrupt_at_once` exceeded its time limit."""


class _Section:
    """The state of the main thread; signal handlers have no other way to find out."""

    is_open = False
    """Whether it is in `interrupt_at_once`."""
    has_handler = False
    """Whether the handler of the timer is installed."""


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
    if not _HAS_TIMER or threading.current_thread() is not threading.main_thread():
        yield
        return
    with _handling_timer():
        _Section.is_open = True
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
        finally:
            # The order matters: a timer that fires now raises nothing, and no timer is left when the old
            # handler, which by default ends the process, is restored.
            _Section.is_open = False
            signal.setitimer(signal.ITIMER_REAL, 0)


@contextlib.contextmanager
def _handling_timer() -> Iterator[None]:
    """Handle the timer in the block. In a block within it, this does nothing, which takes much less time."""
    if _Section.has_handler:
        yield
        return
    previous = signal.signal(signal.SIGALRM, _raise_took_too_long)
    _Section.has_handler = True
    try:
        yield
    finally:
        _Section.has_handler = False
        signal.signal(signal.SIGALRM, previous)


def _raise_took_too_long(*_: object) -> None:
    if _Section.is_open:  # the timer may fire while the section ends
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
        with _handling_timer() if _HAS_TIMER else contextlib.nullcontext():
            await main
    finally:
        signal.signal(signal.SIGTERM, previous)
        if callable(on_sigint):
            signal.signal(signal.SIGINT, on_sigint)


def _leave_section() -> None:
    if _Section.is_open:
        _Section.is_open = False
        raise asyncio.CancelledError
