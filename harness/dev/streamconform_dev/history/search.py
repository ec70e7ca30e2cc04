"""Choose the next release to test, and summarize the results of the tested releases. Pure.

Bisection assumes that a bug was introduced once and fixed once. This assumption is checked at the boundaries:
another release on each side of a boundary is tested too, and a contradiction is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

State = Literal["present", "absent", "unclear"]
"""Whether a release has the bug; `unclear` if it cannot be installed or the adapter cannot use it."""
States = Sequence[State | None]
"""One state per release, in version order; None for a release that was not tested."""

MAX_UNCLEAR: Final = 4
"""The number of unclear releases at a boundary after which the search gives up."""


@dataclass(frozen=True, slots=True)
class Span:
    """The releases that have a bug, as positions in the list of releases."""

    oldest: int
    """The oldest release with the bug, with no bug-free release known between it and `newest`."""
    newest: int
    absent_before: int | None
    """The last release before `oldest` without the bug; None if there is none."""
    absent_after: int | None
    steady: bool
    """Whether the tested releases agree that the bug was introduced once and fixed at most once."""


def choose_release(states: States, start: int) -> int | None:
    """Return the position of the release to test next, or None if enough is known.

    The bug was found in the release `start`.
    """
    last = len(states) - 1
    for position in (start, last):
        if states[position] is None:
            return position
    if states[start] != "present":
        return None
    downward, upward = range(start, -1, -1), range(start, last + 1)
    for side in (upward, downward):
        choice = _choose_on_side([states[position] for position in side])
        if choice is not None:
            return side[choice]
    return None


def summarize(states: States, start: int) -> Span | None:
    """Return the releases that have the bug; None if `start`, where it was found, does not have it."""
    if states[start] != "present":
        return None
    downward, upward = range(start, -1, -1), range(start, len(states))
    (below, absent_below), (above, absent_above) = (
        _find_boundary([states[position] for position in side]) for side in (downward, upward)
    )
    before = None if absent_below is None else downward[absent_below]
    after = None if absent_above is None else upward[absent_above]
    outside = (*states[: before or 0], *(states[after + 1 :] if after is not None else ()))
    return Span(downward[below], upward[above], before, after, "present" not in outside)


def _find_boundary(side: States) -> tuple[int, int | None]:
    """Return the last release with the bug, and the first release without it; `side[0]` has the bug."""
    absent = next((n for n, state in enumerate(side) if state == "absent"), None)
    within = side if absent is None else side[:absent]
    return max(n for n, state in enumerate(within) if state == "present"), absent


def _choose_on_side(side: States) -> int | None:
    present, absent = _find_boundary(side)
    end = len(side) - 1
    if absent is None:
        if present == end:
            return None
        # The farthest release first: if it has the bug, none of those in between needs a test.
        if side[end] is None:
            return end
        unclear = next(n for n in range(present + 1, end + 1) if side[n] == "unclear")
        if unclear - present > 1:
            return (present + unclear) // 2
        return unclear + 1 if unclear < end and side[unclear + 1] is None else None
    between = range(present + 1, absent)
    open_ones = [n for n in between if side[n] is None]
    if open_ones and len(between) - len(open_ones) < MAX_UNCLEAR:
        return min(open_ones, key=lambda n: abs(2 * n - present - absent))
    neighbors = [n for n in (absent + 1, present - 1) if 0 <= n <= end and side[n] is None]
    return neighbors[0] if neighbors else None
