"""The places where partitions are examined: this process, other local processes, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

from streamconform_capture.compare.inputs.partition import Partition

Work = Callable[[Any, Partition, str | None], Any]
"""A function in `work.py` that takes the job, a partition, and a path; it stops once a file exists at that
path.
"""


@dataclass(frozen=True, slots=True)
class Death:
    """The worker ended, or its work raised an exception."""

    reason: str
    """In one line."""
    counts: bool = True
    """Whether the partition may be to blame; false if only the connection was lost."""


class Engine(Protocol):
    """Applies a function to partitions in its workers. Any worker may die at any time."""

    @property
    def slots(self) -> int:
        """Return how many partitions may be submitted at a time, so that no worker is ever idle."""

    def __enter__(self) -> Self:
        """Start or connect to the workers. Raises `UsageError`."""

    def __exit__(self, *_: object) -> None:
        """Stop what was started."""

    def submit(self, work: Work, request: Any, partition: Partition) -> None:
        """Have a worker call `work` with `request` and `partition`."""

    def wait(self) -> Iterator[tuple[Partition, Any]]:
        """Wait for at least one submitted partition; yield those that are done, with a result or a `Death`.

        Raises exceptions that affect the entire run: `ImplementationError`, `UsageError`.
        """
