"""Engines of this machine: the process itself, or several others."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import multiprocessing.context
import os
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final, Self

from streamconform.errors import ConformError
from streamconform.printable import escape_line
from streamconform.tools.compare import work
from streamconform.tools.compare.engines import Death, Work
from streamconform.tools.compare.inputs.partition import Partition

MAX_FOLDER: Final = 70
"""Bytes of a folder's path in which a socket of multiprocessing fits; it adds about 35."""


class InlineEngine:
    """Examines partitions in this process, one after the other."""

    slots = 1

    def __init__(self) -> None:
        """Start without work."""
        self._queue: deque[tuple[Work, Any, Partition]] = deque()

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the implementations."""
        work.close_examiners()

    def submit(self, work: Work, request: Any, partition: Partition) -> None:
        """Note what to do."""
        self._queue.append((work, request, partition))

    def wait(self) -> Iterator[tuple[Partition, Any]]:
        """Examine the partition that was submitted first."""
        function, request, partition = self._queue.popleft()
        try:
            result = function(request, partition, None)
        except ConformError:
            raise
        except Exception as error:  # noqa: BLE001 - one recording must not end the run
            result = describe_exception(error)
        yield partition, result


class ProcessEngine:
    """Examines partitions in processes of this machine.

    Each process has its own pool, because if a process of a larger pool ends, its partition is unknown.
    """

    def __init__(self, workers: int) -> None:
        """Use `workers` processes."""
        self.slots = workers
        self._context = _create_context()
        self._idle: deque[concurrent.futures.ProcessPoolExecutor] = deque()
        self._pending: dict[
            concurrent.futures.Future[Any], tuple[Partition, concurrent.futures.ProcessPoolExecutor]
        ] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="conform-")
        self._stop_file = Path(self._folder.name, "stop")

    def __enter__(self) -> Self:
        """Make the pools; a process starts with its first partition."""
        self._idle.extend(self._create_pool() for _ in range(self.slots))
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the processes after the recordings that they examine."""
        self._stop_file.touch()
        pools = [*self._idle, *(pool for _, pool in self._pending.values())]
        for pool in pools:
            try:
                pool.submit(work.close_examiners)
            except BrokenProcessPool:
                continue
        for pool in pools:
            pool.shutdown()
        self._folder.cleanup()

    def submit(self, work: Work, request: Any, partition: Partition) -> None:
        """Give the partition to an idle process."""
        pool = self._idle.popleft()
        future = pool.submit(work, request, partition, str(self._stop_file))
        self._pending[future] = partition, pool

    def wait(self) -> Iterator[tuple[Partition, Any]]:
        """Yield the results of the processes."""
        done, _ = concurrent.futures.wait(self._pending, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            partition, pool = self._pending.pop(future)
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                pool.shutdown()
                pool = self._create_pool()
            self._idle.append(pool)
            if isinstance(error, ConformError):
                raise error
            if isinstance(error, BrokenProcessPool):
                yield partition, Death("it ended the worker")
            elif error is not None:
                yield partition, describe_exception(error)
            else:
                yield partition, future.result()

    def _create_pool(self) -> concurrent.futures.ProcessPoolExecutor:
        return concurrent.futures.ProcessPoolExecutor(
            1, mp_context=self._context, initializer=_prepare_worker
        )


def _create_context() -> multiprocessing.context.BaseContext:
    """Return how workers are started; none inherits threads or open files of this process.

    On Linux they are forks of a process that imported what they need, which saves most of their start.
    Elsewhere system libraries may not survive a fork.
    """
    # A fork server listens on a socket in the folder for temporary files; Linux has 108 bytes for its path.
    if sys.platform != "linux" or len(os.fsencode(tempfile.gettempdir())) > MAX_FOLDER:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([work.__name__])
    return context


def describe_exception(error: BaseException) -> Death:
    """Return the death for an exception in a worker."""
    return Death(f"streamconform failed: {type(error).__name__}: {escape_line(str(error), 200)}")


def _prepare_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
