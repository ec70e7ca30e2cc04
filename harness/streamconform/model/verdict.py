"""Checks and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from streamconform.model.case import Level

Verdict = Literal["pass", "fail", "warn", "known", "stale", "skipped", "faulted", "hang"]
CheckVerdict = Literal["pass", "fail", "warn", "may"]
Culprit = Literal["implementation", "adapter", "harness"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
UNEXPECTED: frozenset[Verdict] = frozenset({"fail", "faulted", "hang", "stale"})
"""Verdicts that make the run exit with code 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One comparison in a trial; `path` is a stable path within the spec."""

    path: str
    level: Level
    verdict: CheckVerdict
    expected: Any = None
    got: Any = None
    message: str | None = None
    frames: tuple[int, ...] = ()
