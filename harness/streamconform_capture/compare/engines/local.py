"""Local engines: this process, or several other processes."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Self

from streamconform.errors import ConformError
from streamconform.printable import escape_line
from streamconform.system import create_worker_context
from streamconform_capture.compare import work
from streamconform_capture.compare.engines import Death, Work
from streamconform_capture.compare.inputs.partition import Partition


class InlineEngine:
    """Examines partitions in this process, one at a time."""

    slots = 1

    def __init__(self) -> None:
        """Start with no submitted work."""
        self._queue: deque[tuple[Work, Any, Partition]] = deque()

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the implementations."""
        work.close_examiners()

    def submit(self, work: Work, request: Any, partition: Partition) -> None:
        """Queue a call to `work`."""
        self._queue.append((work, request, partition))

    def wait(self) -> Iterator[tuple[Partition, Any]]:
        """Examine the submitted partition that has waited longest."""
        function, request, partition = self._queue.popleft()
        try:
            result = function(request, partition, None)
        except ConformError:
            raise
        except Exception as error:  # noqa: BLE001 - one recording must not end the run
            result = describe_exception(error)
        yield partition, result


class ProcessEngine:
    """Examines partitions in local processes.

    Each process has its own pool: if a process in a larger pool ended, there would be no way to know its
    partition.
    """

    def __init__(self, workers: int) -> None:
        """Use `workers` processes."""
        self.slots = workers
        self._context = create_worker_context(work.__name__)
        self._idle: deque[concurrent.futures.ProcessPoolExecutor] = deque()
        self._pending: dict[
            concurrent.futures.Future[Any], tuple[Partition, concurrent.futures.ProcessPoolExecutor]
        ] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="conform-")
        self._stop_file = Path(self._folder.name, "stop")

    def __enter__(self) -> Self:
        """Make the pools; a process starts when it gets its first partition."""
        self._idle.extend(self._create_pool() for _ in range(self.slots))
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the processes once they have finished their current recordings."""
        # First, because the shutdown below waits for the workers, which look for this file before each
        # recording.
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
        """Yield results as processes return them."""
        done, _ = concurrent.futures.wait(self._pending, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            partition, pool = self._pending.pop(future)
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                pool.shutdown()
                pool = self._create_pool()
            # Before an exception is raised, so that `__exit__` shuts this pool down too.
            self._idle.append(pool)
            if isinstance(error, ConformError):
                raise error
            if isinstance(error, BrokenProcessPool):
                yield partition, Death("it killed the worker")
            elif error is not None:
                yield partition, describe_exception(error)
            else:
                yield partition, future.result()

    def _create_pool(self) -> concurrent.futures.ProcessPoolExecutor:
        return concurrent.futures.ProcessPoolExecutor(
            1, mp_context=self._context, initializer=_prepare_worker
        )


def describe_exception(error: BaseException) -> Death:
    """Return the `Death` that represents an exception in a worker."""
    return Death(f"streamconform failed: {type(error).__name__}: {escape_line(str(error), 200)}")


def _prepare_worker() -> None:
    """Leave Ctrl-C to the parent process, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"

    def end_with_parent() -> None:
        parent.join()
        # `sys.exit` would end only this thread.
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
