"""Trials of grown streams: longer time limits, short forms of long texts, and what the client used."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from streamconform.adapters.idle_limit import Activity
from streamconform.adapters.interface import Answer, Observation
from streamconform.adapters.program import Program
from streamconform.model.growth import shorten_texts
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


def shorten_answer(answer: Answer) -> Answer:
    """Return an answer in which each long text is what stands for it, as in the expectation."""
    return (
        replace(answer, outcome=shorten_texts(answer.outcome)) if isinstance(answer, Observation) else answer
    )


def measure(size: int, program: Program, before: Activity | None) -> Resources:
    """Return what a program has used for a stream of this size; it had done `before` when the trial began."""
    after = program.read_activity()
    used = None if before is None or after is None else after.cpu_seconds - before.cpu_seconds
    return Resources(
        stream=size,
        memory=program.read_peak(),
        cpu_ms=None if used is None else round(used * 1000),
    )
