"""Count distinct bugs by their harm, and say so in words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from streamconform.causes.table import HARMS, LEAKS, RUNS, SUCCEEDS, Harm
from streamconform.plural import format_count

SERIOUS: Final = frozenset({RUNS, LEAKS, SUCCEEDS})
"""Harms with which nothing is green, however few cases show them."""


def count_harms(harms: Iterable[Harm | None]) -> dict[Harm | None, int]:
    """Return the number of each harm, the worst first; None stands for bugs that are not the library's."""
    counts = Counter(harms)
    return {harm: counts[harm] for harm in (*HARMS, None) if counts[harm]}


def format_bugs(counts: Mapping[Harm | None, int], most: int = len(HARMS)) -> str:
    """Return `3 bugs: runs a wrong or unfinished call (1), loses or changes content (2)`.

    Harms after the first `most` are only counted.
    """
    if not counts:
        return "no known bug"
    named = [f"{harm or 'adapter error'} ({count})" for harm, count in list(counts.items())[:most]]
    others = sum(list(counts.values())[most:])
    named += [f"{others} more"] if others else []
    return f"{format_count(sum(counts.values()), 'bug')}: {', '.join(named)}"
