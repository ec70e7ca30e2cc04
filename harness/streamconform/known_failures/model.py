"""The failures that a project knows of (`known-failures.v1.json`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Failing = Literal["fail", "hang", "faulted"]
"""How a listed trial fails; under `--strict` a warning is listed as `fail`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """One entry of the file."""

    match: str
    """About cases; with `@` about trials; with `:` about checks."""
    verdict: Failing
    message: str | None = None
    reason: str
    issue: str
    expires: str | None = None
    """The last day on which the entry holds, as `2026-12-31`."""
    line: int = 0
    """Where it stands in the file; 0 for one that does not stand there yet."""


@dataclass(frozen=True, slots=True)
class KnownFailures:
    """A file of them; `path` is what messages call it."""

    path: str
    entries: tuple[KnownFailure, ...]
    implementation: str | None = None
    """The one that they are about, as given to `--impl`; None: every one of the run."""

    def about(self, impl: str) -> bool:
        """Return whether the entries are about the implementation that was given as `impl`."""
        return self.implementation in (None, impl)
