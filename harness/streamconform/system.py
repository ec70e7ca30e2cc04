"""What only some operating systems have, each with what is done on the others.

No other module names these parts of Python, so everything else runs wherever Python does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext, ForkContext, SpawnContext

IS_WINDOWS: Final = os.name == "nt"
HAS_PROC: Final = sys.platform == "linux"
"""Whether `PROC` describes processes and connections as on Linux."""
HAS_TIMER: Final = hasattr(signal, "setitimer")
HAS_SAFE_FORK: Final = hasattr(os, "fork") and sys.platform != "darwin"
"""On macOS, system libraries start threads of their own, which a fork lacks.

Source: https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods
"""
PROC: Final = Path("/proc")
CLOCK_TICKS: Final = os.sysconf("SC_CLK_TCK") if HAS_PROC else 100
"""The unit of the times in `PROC`, per second."""
MAX_FOLDER: Final = 70
"""The longest temporary folder, in bytes, for a fork server. It listens on a socket there, whose path Linux
limits to 108 bytes, and multiprocessing's name for it has about 35.
"""
_RLIMIT_LOCKS: Final = 10
_KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)
"""On Windows, `os.kill` ends a process at once with any signal."""


def can_fork() -> bool:
    """Return whether this process can be forked."""
    # A fork has none of the other threads, but all the locks that they hold.
    return HAS_SAFE_FORK and threading.active_count() == 1


def get_context() -> ForkContext | SpawnContext:
    """Return the start method that forks if `can_fork`, and otherwise the one that starts Python anew."""
    import multiprocessing

    return multiprocessing.get_context("fork") if can_fork() else multiprocessing.get_context("spawn")


def create_worker_context(preloaded: str) -> BaseContext:
    """Return the start method for workers, which inherit no threads or open files from this process.

    Where forks are safe, they are forked from a process that has already imported the module `preloaded`,
    which saves most of their start-up time.
    """
    import multiprocessing

    if not HAS_SAFE_FORK or len(os.fsencode(tempfile.gettempdir())) > MAX_FOLDER:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preloaded])
    return context


def kill(pid: int) -> None:
    """Kill a process, unless it has ended or belongs to another user."""
    with contextlib.suppress(OSError):
        os.kill(pid, _KILL)


def kill_group(pid: int) -> bool:
    """Kill the processes in the group of `pid`; return False where there are no groups."""
    if not hasattr(os, "killpg"):
        return False
    with contextlib.suppress(OSError):
        os.killpg(pid, _KILL)
    return True


def limit_locks(pid: int, limit: int) -> None:
    """Limit the file locks of a process, which has no effect on Linux; elsewhere, do nothing."""
    try:
        import resource
    except ImportError:
        return
    # Fails if the hard limit was lowered, or if the process has ended.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        _, hard = resource.prlimit(pid, _RLIMIT_LOCKS)
        resource.prlimit(pid, _RLIMIT_LOCKS, (limit, hard))


def raise_file_limit(wanted: int) -> None:
    """Raise the limit to `wanted` open files, if the system permits: shells often start with 1,024."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def try_lock(file: IO[Any]) -> bool:
    """Try to lock an open file and return whether that succeeded; closing the file releases the lock."""
    try:
        import fcntl
    except ImportError:
        return _try_lock_on_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_lock_on_windows(file: IO[Any]) -> bool:
    import msvcrt

    windows: Any = msvcrt
    file.seek(0)
    try:
        windows.locking(file.fileno(), windows.LK_NBLCK, 1)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def calling_every(seconds: float, function: Callable[..., None]) -> Iterator[None]:
    """Call `function` at this interval, in the main thread, if `HAS_TIMER`."""
    previous = signal.signal(signal.SIGALRM, function)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
        yield
    finally:
        # The order matters: no timer is left when the old handler, which by default ends the process, is
        # restored.
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextlib.contextmanager
def calling_on_signals(function: Callable[[], object], *numbers: signal.Signals) -> Iterator[None]:
    """Call `function` in the running event loop when one of these signals arrives."""
    # asyncio's own handlers do not exist on Windows.
    loop = asyncio.get_running_loop()

    def handle(*_: object) -> None:
        loop.call_soon_threadsafe(function)

    previous = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def find_venv_python(folder: Path) -> Path:
    """Return the path of Python in the virtual environment `folder`."""
    return folder / ("Scripts/python.exe" if IS_WINDOWS else "bin/python")
