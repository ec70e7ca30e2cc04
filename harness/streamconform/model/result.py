"""What a run writes: the lines of `results.jsonl` (`results.v1.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streamconform.errors import Problem
from streamconform.model.case import Level
from streamconform.model.trial import Input
from streamconform.model.verdict import Check, Culprit, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplementationInfo:
    """What is judged, as it names itself, and how it was reached."""

    name: str
    version: str | None
    language: str | None
    issues: str | None
    impl: str
    input: Input
    claims: Mapping[str, tuple[str, ...]] | None = None
    """The capabilities that it claims, by each api that it speaks; `common` has those of calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """First line: what is going to be judged."""

    version: str
    cases: int
    trials: int
    implementations: tuple[ImplementationInfo, ...]
    selection: Mapping[str, Any]
    seed: int
    date: str | None = None
    """The day on which the run began, in UTC, as `2026-12-31`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """A finished trial; `checks` are those that did not pass."""

    implementation: int
    id: str
    case: str
    delivery: str | None
    level: Level
    verdict: Verdict
    culprit: Culprit | None
    ms: float
    checks: tuple[Check, ...] = ()
    passed: int = 0
    reason: str | None = None
    observation: Mapping[str, Any] | None = None
    known: str | None = None
    tracked: tuple[str, ...] = ()
    """Where the known failures are tracked: the `issue` of each."""
    title: str | None = None
    """The case's title, where not everything passed."""
    guards: tuple[str, ...] = ()
    """The real bugs that the case catches, where not everything passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """Last line; a file without it was cut."""

    counts: Mapping[str, int]
    exit: int
    complete: bool
    problems: tuple[Problem, ...] = ()
    """Of the known-failures file: the entries that are not true any more."""
