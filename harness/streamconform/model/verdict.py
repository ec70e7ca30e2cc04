"""Checks and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta

from streamconform.model.case import Level

Verdict = Literal["pass", "fail", "warn", "known", "stale", "skipped", "faulted", "hang"]
CheckVerdict = Literal["pass", "fail", "warn", "may"]
Culprit = Literal["implementation", "adapter", "harness"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Count = Annotated[int, Meta(ge=0)]
UNEXPECTED: frozenset[Verdict] = frozenset({"fail", "faulted", "hang", "stale"})
"""Verdicts that make the run exit with code 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One comparison in a trial; `path` is a stable path within the spec."""

    path: Annotated[str, "The compared value, as a path in the spec."]
    level: Annotated[Level, "The level of what was compared."]
    verdict: Annotated[CheckVerdict, "may: the value differs, without consequences. Never pass."]
    expected: Annotated[Any, "The value or the matcher."] = None
    got: Annotated[Any, "The actual value; absent values are null."] = None
    message: Annotated[str | None, "A description, if the values alone do not explain the failure."] = None
    frames: Annotated[
        tuple[Count, ...], "The frames of the body, numbered from 0, that determined the value."
    ] = ()
