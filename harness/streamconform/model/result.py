"""The lines of `results.jsonl` (`results.v1.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform.errors import Problem
from streamconform.model.case import Level
from streamconform.model.trial import Input
from streamconform.model.verdict import UNEXPECTED, Check, Culprit, Verdict

REFUSED: Final = "refused to send"
"""The beginning of the reason for a trial that is skipped because the client refused to send the request."""
CRASHED: Final = "crashes before it sends"
"""The beginning of the reason for a trial in which the client raised anything else before it sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplementationInfo:
    """An implementation: its own name and version, and how the suite reached it."""

    name: str
    version: str | None
    language: str | None
    issues: str | None
    impl: str
    input: Input
    claims: Mapping[str, tuple[str, ...]] | None = None
    """The claimed capabilities per API; the key `common` lists the capabilities for functions."""


RULES: Final = 2
"""The version of the rules for verdicts. CHANGELOG lists what each version changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line: the suite, the implementations and the selection."""

    version: str
    cases: int
    trials: int
    implementations: tuple[ImplementationInfo, ...]
    selection: Mapping[str, Any]
    seed: int
    date: str | None = None
    """The date on which the run started, in UTC, such as `2026-12-31`."""
    rules: int = 1
    """The version of the rules by which the trials were judged; results without it are older than 2."""
    digest: str | None = None
    """Digest of the selected trials, their specs and their cassettes."""
    command: str | None = None
    """The command line of the run."""
    platform: str | None = None
    """The platform used for the run: the Python version, the operating system and the processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """A finished trial; `checks` are those that did not pass, and `passed` counts the others."""

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
    """The `issue` of each known-failures entry that matches."""
    title: str | None = None
    """The case's title; None if everything passed."""
    guards: tuple[str, ...] = ()
    """The real-world bugs that the case catches; empty if everything passed."""
    not_exposed: tuple[str, ...] = ()
    """The paths that the case expects but the implementation leaves out; they are not judged."""
    compared: tuple[str, ...] = ()
    """The claimed capabilities of which the case expects a value and at least one was compared."""
    uncompared: tuple[str, ...] = ()
    """The claimed capabilities of which the case expects a value but the answer leaves all of them out."""
    unknown_keys: tuple[str, ...] = ()
    """The paths of unknown keys in the answer, without indices; they are not judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UncomparedClaim:
    """A claimed capability of which no trial of a run compared a value, although some expected one."""

    implementation: int
    capability: str
    trials: int
    """The number of trials that expected a value; known failures are not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """The last line; a file without it is truncated."""

    counts: Mapping[str, int]
    exit: int
    complete: bool
    problems: tuple[Problem, ...] = ()
    """The entries of the known-failures files that are out of date."""
    seconds: float | None = None
    """The duration of the run, from the start of the first program."""
    lost: tuple[str, ...] = ()
    """Trials that were planned but have no result, or several, although the run ended by itself."""
    stopped: str | None = None
    """Why the run was stopped early, unless by `--maxfail` or a signal."""
    imported_reference: tuple[bool | None, ...] = ()
    """For each implementation, whether its process imported the bundled parser; None if unknown."""
    claims: tuple[UncomparedClaim, ...] = ()
    """The claims that fail the run, because no trial compared a value of them."""


def is_unexpected(result: TrialResult, *, strict: bool) -> bool:
    """Return whether a result makes the run fail; if `strict`, a warning also does."""
    return result.verdict in UNEXPECTED or (strict and result.verdict == "warn")
