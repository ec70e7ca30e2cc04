"""Errors that a user can cause, one class per step of a run.

* reading the command line and the config file: `UsageError`
* reading specs and cassettes: `SourceError`, with all problems at once
* selecting cases: `SelectionError`
* starting implementations: `ImplementationError`
* running trials, if a worker process ends: `WorkerError`; a misbehaving implementation becomes a verdict
* examining recordings, if the workers keep dying: `WorkerError`
* writing reports: `ReportError`
* ending a command, if its numbers do not add up: `LostError`

Each class has its own exit code (`exit_code`). Any other exception that escapes is a bug in streamconform and
ends with exit code 4. Each message states the problem, its location, the expected and actual values, and the
fix; code and file names are in backticks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a user's file: `path:line: message`."""

    path: Annotated[str, "The file."]
    line: Annotated[int | None, "The line, from 1."]
    message: Annotated[str, "What is wrong and what to do."]

    def __str__(self) -> str:
        """Return the problem in the format that editors and CI annotations recognize."""
        location = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{location}: {self.message}"


class ConformError(Exception):
    """Base class for the errors that a user can cause; they are printed without a traceback."""

    exit_code = 2


class UsageError(ConformError):
    """The command line or the config file is wrong."""


class SourceError(ConformError):
    """Specs, cassettes or other input files are invalid; contains every problem found."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        """Store `problems` in file order."""
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class SelectionError(ConformError):
    """A requested pattern, API or case matches nothing."""


class ImplementationError(ConformError):
    """The implementation cannot be used: not installed, does not start, or rejects the protocol."""

    exit_code = 3


class WorkerError(ConformError):
    """A worker process ended in the middle of a run, or the workers of a comparison keep dying."""


class ReportError(ConformError):
    """A report cannot be read or written at the requested path."""


class LostError(ConformError):
    """Something was lost or counted twice, which is a bug in streamconform; see `conservation`."""

    exit_code = 4
