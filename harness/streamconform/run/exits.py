"""The exit codes; no other module maps the result of a run to a number."""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct


class Exit(IntEnum):
    """The exit code of `conform`."""

    EXPECTED = 0
    """No new failures."""
    UNEXPECTED = 1
    """A trial failed, was faulted or timed out, a claim was never compared, or the known-failures file is out
    of date."""
    USAGE = 2
    """The command line, the config, a spec or a cassette is invalid, or the selection matches nothing."""
    UNUSABLE = 3
    """An implementation cannot be reached, or did not answer any trial."""
    BUG = 4
    """A bug in streamconform."""
    NOTHING = 5
    """Nothing ran."""
    INTERRUPTED = 130
    """Ctrl-C or SIGTERM; the results obtained so far are written."""


PRECEDENCE = (
    Exit.BUG,
    Exit.INTERRUPTED,
    Exit.UNUSABLE,
    Exit.USAGE,
    Exit.UNEXPECTED,
    Exit.NOTHING,
    Exit.EXPECTED,
)
"""Exit codes in order of precedence."""


def select_exit(*codes: Exit) -> Exit:
    """Return the code that takes precedence, or `EXPECTED` if there is none."""
    return min(codes, key=PRECEDENCE.index, default=Exit.EXPECTED)


class RunSummary(Struct, frozen=True, kw_only=True):
    """The properties of a run that determine its exit code."""

    interrupted: bool
    unexpected: bool
    """Whether a verdict, a claim or an outdated known-failures entry fails the run."""
    attempted: frozenset[int]
    """Implementations with at least one trial that was not skipped."""
    answered: frozenset[int]
    """Implementations that answered at least one trial."""
    inconsistent: bool = False
    """Whether the results are not those of the planned trials."""
    unusable: bool = False
    """Whether the run was stopped because an implementation's answers are of no use."""


def choose_exit(run: RunSummary) -> Exit:
    """Return the exit code of a run."""
    codes = [Exit.EXPECTED]
    if run.inconsistent:
        codes.append(Exit.BUG)
    if run.unusable:
        codes.append(Exit.UNUSABLE)
    if run.interrupted:
        codes.append(Exit.INTERRUPTED)
    if run.unexpected:
        codes.append(Exit.UNEXPECTED)
    if not run.attempted:
        codes.append(Exit.NOTHING)
    # An interrupt may come before an implementation's first answer.
    if run.attempted - run.answered and not run.interrupted:
        codes.append(Exit.UNUSABLE)
    return select_exit(*codes)
