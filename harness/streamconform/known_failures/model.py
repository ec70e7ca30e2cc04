"""Known failures of an implementation (`known-failures.v1.json`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Failing = Literal["fail", "hang", "faulted"]
"""The verdict listed for a trial; with `--strict`, a warning is listed as `fail`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """One entry of the file."""

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


@dataclass(frozen=True, slots=True)
class KnownFailures:
    """A known-failures file; `path` is its name in messages."""

    path: str
    entries: tuple[KnownFailure, ...]
    implementation: str | None = None
    """The value of `--impl` to which the entries apply; None for every implementation in the run."""

    def applies_to(self, impl: str) -> bool:
        """Return whether the entries apply to the implementation given as `--impl IMPL`."""
        return self.implementation in (None, impl)
