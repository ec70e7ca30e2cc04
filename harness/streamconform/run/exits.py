"""Exit codes; the one place that maps what happened to a number."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Exit(IntEnum):
    """What `conform` ends with."""

    EXPECTED = 0
    """Everything as expected."""
    UNEXPECTED = 1
    """A trial failed, was faulted or hung, or the known-failures file is not true any more."""
    USAGE = 2
    """Wrong usage, config, spec or cassette, or a selection that matches nothing."""
    UNUSABLE = 3
    """An implementation cannot be reached, or answered no trial."""
    BUG = 4
    """Our own mistake."""
    NOTHING = 5
    """Nothing ran."""
    INTERRUPTED = 130
    """Ctrl-C; what had ended is written."""


PRECEDENCE = (
    Exit.BUG,
    Exit.INTERRUPTED,
    Exit.UNUSABLE,
    Exit.USAGE,
    Exit.UNEXPECTED,
    Exit.NOTHING,
    Exit.EXPECTED,
)
"""Which code wins when several hold."""


def worst(*codes: Exit) -> Exit:
    """Return the code that wins."""
    return min(codes, key=PRECEDENCE.index, default=Exit.EXPECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What became of a run."""

    interrupted: bool
    unexpected: bool
    """A verdict that fails the run, or a known failure that is not true any more."""
    asked: frozenset[int]
    """The implementations of which anything was asked."""
    answered: frozenset[int]


def of_run(run: Happened) -> Exit:
    """Return what a run ends with."""
    codes = [Exit.EXPECTED]
    if run.interrupted:
        codes.append(Exit.INTERRUPTED)
    if run.unexpected:
        codes.append(Exit.UNEXPECTED)
    if not run.asked:
        codes.append(Exit.NOTHING)
    if run.asked - run.answered and not run.interrupted:
        codes.append(Exit.UNUSABLE)
    return worst(*codes)
