"""A run that can be interrupted, by Ctrl-C and by SIGTERM alike."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run `main` to its end; Ctrl-C, or SIGTERM as CI systems send it, cancels it.

    Raises `KeyboardInterrupt` then, when all that `main` began is ended. SIGTERM does not go by way of
    SIGINT: jobs in the background of a script have that one ignored.
    """
    try:
        asyncio.run(_terminable(main))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _terminable(main: Coroutine[Any, Any, None]) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "a coroutine that runs is in a task"
    before = signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(task.cancel))
    try:
        await main
    finally:
        signal.signal(signal.SIGTERM, before)
