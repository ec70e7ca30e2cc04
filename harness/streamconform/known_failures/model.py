"""Known failures of an implementation (`known-failures.v1.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Failing = Literal["fail", "hang", "faulted"]
"""The verdict listed for a trial; with `--strict`, a warning is listed as `fail`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCause:
    """An entry that lists every trial with one cause in one API."""

    cause: str
    """The id of the cause."""
    api: str
    trials: int
    """The number of trials that fail for this cause."""
    reason: str
    issue: str
    example: str | None = None
    """The id of a trial with this cause, for people and for programs that need a trial."""
    expires: str | None = None
    """The last day on which the entry is valid, such as `2026-12-31`."""
    line: int = 0
    """The entry's line number in the file; 0 if it is not in the file yet."""

    @property
    def key(self) -> tuple[str, str]:
        """Return the API and the cause."""
        return self.api, self.cause

    @property
    def name(self) -> str:
        """Return the entry's name in messages."""
        return f"`{self.cause}` of {self.api}"

    @property
    def pattern(self) -> str | None:
        """Return a pattern for trials that show the failure."""
        return self.example


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """An entry that lists the trials or checks that match a pattern."""

    match: str
    """A glob that matches case ids; with `@`, trial ids; with `:`, check ids."""
    verdict: Failing
    message: str | None = None
    reason: str
    issue: str
    expires: str | None = None
    """The last day on which the entry is valid, such as `2026-12-31`."""
    line: int = 0
    """The entry's line number in the file; 0 if it is not in the file yet."""

    @property
    def name(self) -> str:
        """Return the entry's name in messages."""
        return f"`{self.match}`"

    @property
    def pattern(self) -> str:
        """Return a pattern for trials that show the failure."""
        return self.match


Entry: TypeAlias = KnownCause | KnownFailure


@dataclass(frozen=True, slots=True)
class KnownFailures:
    """A known-failures file; `path` is its name in messages."""

    path: str
    entries: tuple[Entry, ...]
    implementation: str | None = None
    """The value of `--impl` to which the entries apply; None for every implementation in the run."""
    scope: Mapping[str, Any] | None = None
    """The selection for which `trials` is the number of trials; None for the default settings."""
    declares: Mapping[str, tuple[str, ...]] | None = None
    """The capabilities that the project declares for each API; None if it declares nothing."""
    declares_line: int | None = None

    def applies_to(self, impl: str) -> bool:
        """Return whether the entries apply to the implementation given as `--impl IMPL`."""
        return self.implementation in (None, impl)

    @property
    def patterns(self) -> dict[int, KnownFailure]:
        """Return the entries about patterns by their index."""
        return {n: entry for n, entry in enumerate(self.entries) if isinstance(entry, KnownFailure)}

    @property
    def causes(self) -> dict[int, KnownCause]:
        """Return the entries about causes by their index."""
        return {n: entry for n, entry in enumerate(self.entries) if isinstance(entry, KnownCause)}
