"""The engine that uses a Dask cluster: a running one, or a new one on this machine.

Dask retries a partition whose worker died. This module handles one case that Dask cannot detect: it submits a
partition again if the result was lost because the connection to the scheduler was lost.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

from streamconform.errors import ConformError, UsageError
from streamconform.install import format_install
from streamconform.printable import escape_line
from streamconform_capture.compare import work
from streamconform_capture.compare.engines import Death, Work
from streamconform_capture.compare.engines.local import describe_exception
from streamconform_capture.compare.inputs.partition import Partition

CONNECT_SECONDS: Final = 3
RECONNECT_SECONDS: Final = 120.0
"""How long the scheduler may be unreachable before the run ends."""
LOCAL_CLUSTER: Final = {
    # The caller retries a partition whose worker died, and counts the attempts.
    "distributed.scheduler.allowed-failures": 0,
    # Dask samples the stack of each worker a hundred times per second.
    "distributed.worker.profile.enabled": False,
}
PER_WORKER: Final = 2
"""Partitions submitted per worker thread, so that the next one is ready when one is done."""
WAIT_SECONDS: Final = 5.0
"""The interval at which the connection to the scheduler is checked while nothing happens."""


@contextmanager
def _delayed_ctrl_c() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at the end, because Dask cannot close a cluster that is half started."""
    arrived: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = [signal.signal(number, lambda number, _: arrived.append(number)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, previous, strict=True):
            signal.signal(number, handler)
    if arrived:
        raise KeyboardInterrupt


class DaskEngine:
    """Examines partitions on the workers of a scheduler."""

    def __init__(self, scheduler: str | None, workers: int) -> None:
        """Use the cluster at `scheduler`; if that is None, start one with `workers` processes."""
        try:
            import distributed
        except ImportError as error:
            raise UsageError(f"`--engine dask` needs Dask: {format_install('dask')}") from error
        self._distributed: Any = distributed
        self._address = scheduler
        self._workers = workers
        self._cluster: Any = None
        self._client: Any = None
        self._pending: dict[Any, tuple[Work, Any, Partition]] = {}

    def __enter__(self) -> Self:
        """Connect. Raises `UsageError` if no scheduler answers."""
        if self._address is None:
            self._start_cluster()
        self._connect(0.0)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the implementations on the workers, and also the cluster if it was started here."""
        try:
            if self._client.status == "running":
                self._client.cancel(list(self._pending))
                # The workers of a running cluster outlive this run, and so would the programs on them.
                closing = [
                    self._client.submit(work.close_examiners, workers=[address], pure=False)
                    for address in self._client.scheduler_info(n_workers=-1)["workers"]
                ]
                with self._client.as_current():
                    self._distributed.wait(closing, timeout=10)
        except (OSError, TimeoutError):
            pass  # The cluster is gone, along with the implementations.
        finally:
            self._client.close(timeout=5)
            if self._cluster is not None:
                self._cluster.close()

    def _start_cluster(self) -> None:
        import dask

        try:
            with _delayed_ctrl_c(), dask.config.set(LOCAL_CLUSTER):
                self._cluster = self._distributed.LocalCluster(
                    n_workers=self._workers,
                    threads_per_worker=1,
                    # Dask's default listens on port 8787 of every network interface.
                    dashboard_address="127.0.0.1:0",
                    processes=True,
                )
        except KeyboardInterrupt:
            self._cluster.close()
            raise
        self._address = self._cluster.scheduler_address

    @property
    def slots(self) -> int:
        """Return how many partitions may be submitted."""
        # At least one worker is assumed: with no slots, the run would end at once, although workers may still
        # start.
        return PER_WORKER * max(1, sum(map(int, self._client.nthreads().values())))

    def submit(self, work: Work, request: Any, partition: Partition) -> None:
        """Submit a partition."""
        # Without `retries`, which are for exceptions; after a worker's death, Dask retries up to
        # `distributed.scheduler.allowed-failures` times. Not pure, because Dask gives equal pure calls one
        # key, so a partition that is submitted again would not run again.
        future = self._client.submit(work, request, partition, None, pure=False)
        self._pending[future] = work, request, partition

    def wait(self) -> Iterator[tuple[Partition, Any]]:
        """Yield results as workers return them."""
        distributed = self._distributed
        done: list[Any] = []
        while not done:
            try:
                with self._client.as_current():
                    ended = distributed.wait(
                        list(self._pending), timeout=WAIT_SECONDS, return_when="FIRST_COMPLETED"
                    )
            except TimeoutError:
                pass
            except (OSError, asyncio.CancelledError, distributed.CancelledError):
                yield from self._lose()
                return
            else:
                done = list(ended.done)
            if not done and self._client.status not in ("running", "connecting"):
                yield from self._lose()
                return
        for future in done:
            _, _, partition = self._pending.pop(future)
            yield partition, self._read(future)

    def _read(self, future: Any) -> Any:
        distributed = self._distributed
        if future.status in ("cancelled", "lost"):
            return Death("the scheduler lost it", counts=False)
        try:
            return future.result()
        except distributed.KilledWorker:
            return Death("it killed the worker")
        except (OSError, asyncio.CancelledError, distributed.CancelledError) as error:
            return Death(f"the connection was lost: {escape_line(str(error), 100)}", counts=False)
        except ConformError:
            raise
        except Exception as error:  # noqa: BLE001 - one recording must not end the run
            return describe_exception(error)

    def _lose(self) -> Iterator[tuple[Partition, Any]]:
        """Reconnect, and yield all submitted partitions as lost."""
        lost = [partition for _, _, partition in self._pending.values()]
        self._pending.clear()
        self._client.close(timeout=1)
        self._connect(RECONNECT_SECONDS)
        for partition in lost:
            yield partition, Death("the connection to the scheduler was lost", counts=False)

    def _connect(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                self._client = self._distributed.Client(
                    self._address, timeout=CONNECT_SECONDS, set_as_default=False
                )
            except (OSError, ValueError) as error:
                if isinstance(error, ValueError) or time.monotonic() > end:
                    reason = escape_line(str(error), 200)
                    raise UsageError(f"no Dask scheduler answers at `{self._address}`: {reason}") from error
                time.sleep(0.5)
            else:
                return
