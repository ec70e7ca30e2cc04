"""Limit the time in which a run starts trials (`conform run --budget`)."""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable

from msgspec import Struct

Clock = Callable[[], float]
"""Returns a number of seconds, as `time.monotonic` does."""


class Budget(Struct, frozen=True):
    """A limit on the time for the trials of a run, and the trials to run first."""

    seconds: float
    """The seconds in which trials may start, counted from the first trial."""
    first: tuple[str, ...] = ()
    """The ids of the trials that find most, best first."""
    clock: Clock = time.monotonic

    def describe(self) -> str:
        """Return why the run was stopped, as in `budget of 60 s spent`."""
        return f"budget of {self.seconds:g} s spent"


class Stopwatch:
    """The time that a run has taken; the processes of the run share its start."""

    def __init__(self, budget: Budget | None, implementations: int) -> None:
        """Measure nothing yet; without a `budget`, no time limit applies."""
        self._budget = budget
        self._implementations = implementations
        # Shared memory, because the processes are forked before the first trial.
        self._start = ctypes.c_double.from_buffer(mmap.mmap(-1, ctypes.sizeof(ctypes.c_double)))

    def start(self) -> None:
        """Start to measure; the caller is about to run the first trial."""
        if self._budget is not None:
            self._start.value = self._budget.clock()

    def is_spent(self, implementation: int) -> bool:
        """Return whether no trial of the implementation may start any more.

        Implementations are judged one after another, so each may use its share, and what those before it have
        left.
        """
        if self._budget is None:
            return False
        share = self._budget.seconds * (implementation + 1) / self._implementations
        return self._budget.clock() - self._start.value >= share
