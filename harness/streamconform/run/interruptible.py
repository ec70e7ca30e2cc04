"""Run a coroutine that Ctrl-C and SIGTERM interrupt in the same way."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


def run_interruptible(main: Coroutine[Any, Any, None]) -> None:
    """Run `main`; Ctrl-C or SIGTERM, which CI systems send, cancels it.

    Raises `KeyboardInterrupt` after `main` has cleaned up.
    """
    try:
        asyncio.run(_cancel_on_sigterm(main))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _cancel_on_sigterm(main: Coroutine[Any, Any, None]) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "a running coroutine has a task"
    # Not by raising SIGINT: background jobs of a shell script ignore that signal.
    previous = signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(task.cancel))
    try:
        await main
    finally:
        signal.signal(signal.SIGTERM, previous)
