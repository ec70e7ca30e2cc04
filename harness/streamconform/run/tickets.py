"""Divide a run's trials among its processes: each takes the next batch when it has finished the last."""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from streamconform.model.trial import AnyTrial
from streamconform.run.budget import Stopwatch

MAX_TICKETS: Final = 1024
"""The maximum number of tickets in a run: together they have 4 KiB, which is the least that a pipe holds, on
Windows and for a user with many pipes on Linux. Source: https://man7.org/linux/man-pages/man7/pipe.7.html
"""
_TICKET: Final = struct.Struct("=HH")
"""The index of an implementation and the number of a batch."""

Batch = tuple[AnyTrial, ...]


def divide(trials: Iterable[AnyTrial], most: int) -> tuple[Batch, ...]:
    """Divide `trials` into at most `most` batches; consecutive trials of a case stay together.

    The result depends only on the arguments, so that all processes of a run number the batches alike.
    """
    # Together, because the process that judges a case's trials keeps the checks of its answers.
    cases = [tuple(of_case) for _, of_case in groupby(trials, lambda trial: trial.case.id)]
    size = -(-len(cases) // most) if cases else 1
    return tuple(
        tuple(trial for case in cases[start : start + size] for trial in case)
        for start in range(0, len(cases), size)
    )


class Tickets:
    """The numbers of the batches that no process has taken yet, in a pipe that all of them read."""

    # A pipe, because reading a few bytes from it is atomic, so that no two processes get the same ticket.
    # GNU make shares its jobs in the same way.

    def __init__(self) -> None:
        """Create the pipe; forks of this process share it."""
        self._read, self._write = os.pipe()
        self._next: tuple[int, int] | None = None

    def issue(self, counts: Sequence[int]) -> None:
        """Issue the tickets for the batches of each implementation, and no more after them."""
        tickets = [(index, batch) for index, count in enumerate(counts) for batch in range(count)]
        os.write(self._write, b"".join(_TICKET.pack(*ticket) for ticket in tickets))
        self.stop_issuing()

    def stop_issuing(self) -> None:
        """Close the end of the pipe that issues tickets."""
        if self._write >= 0:
            os.close(self._write)
            self._write = -1

    def take(self, implementation: int) -> int | None:
        """Take a batch of the implementation; return its number, or None if none is left.

        Implementations must be asked for in order; the batches left of those before are dropped, because
        their time is up. Waits until the tickets are issued.
        """
        while self._next is None or self._next[0] < implementation:
            data = os.read(self._read, _TICKET.size)
            if not data:
                return None
            index, batch = _TICKET.unpack(data)
            self._next = index, batch
        index, batch = self._next
        if index != implementation:
            return None
        self._next = None
        return batch

    def close(self) -> None:
        """Close the pipe in this process."""
        self.stop_issuing()
        if self._read >= 0:
            os.close(self._read)
            self._read = -1


class PendingTrials:
    """The trials of an implementation that this process still has to run."""

    def __init__(
        self, implementation: int, batches: Sequence[Batch], tickets: Tickets, stopwatch: Stopwatch
    ) -> None:
        """Take the trials from `batches`, as `tickets` and `stopwatch` allow."""
        self._implementation = implementation
        self._batches = batches
        self._tickets = tickets
        self._stopwatch = stopwatch
        self._taken: deque[AnyTrial] = deque()

    def refill(self) -> bool:
        """Take a batch if no trial is left; return whether there is a trial that may start now."""
        if self._stopwatch.is_spent(self._implementation):
            return False
        while not self._taken:
            number = self._tickets.take(self._implementation)
            if number is None:
                return False
            self._taken.extend(self._batches[number])
        return True

    def take(self) -> AnyTrial:
        """Return the next trial; there is one."""
        return self._taken.popleft()

    def put_back(self, trials: Sequence[AnyTrial]) -> None:
        """Add trials that this process has taken before; they are next."""
        self._taken.extendleft(reversed(trials))
