"""Trials of grown streams: their time limits, and what the client used."""

from __future__ import annotations

from typing import Final

from streamconform.adapters.idle_limit import Activity
from streamconform.adapters.program import Program
from streamconform.model.result import Resources
from streamconform.model.trial import AnyTrial, Trial

TIME_FACTOR: Final = 60
"""How many times `--timeout` a trial of a grown stream may take: a million deltas take minutes in some
clients.
"""


def is_grown(trial: AnyTrial) -> bool:
    """Return whether the stream of a trial is huge, or has no content."""
    return isinstance(trial, Trial) and trial.case.growth is not None


def get_time_limit(trial: AnyTrial, seconds: float) -> float:
    """Return the time limit of a trial, if that of most trials is `seconds`."""
    return seconds * TIME_FACTOR if is_grown(trial) else seconds


def measure(size: int, program: Program, before: Activity | None) -> Resources:
    """Return what a program has used for a stream of this size; it had done `before` when the trial began."""
    after = program.read_activity()
    used = None if before is None or after is None else after.cpu_seconds - before.cpu_seconds
    return Resources(
        stream=size,
        memory=program.read_peak(),
        cpu_ms=None if used is None else round(used * 1000),
    )
