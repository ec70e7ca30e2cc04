"""What can go wrong in a run, and whose fault it is.

The life of a run, and the error that each step can raise:

* the command line and the config file are read: `UsageError`
* specs and cassettes are read, all of their problems at once: `SourceError`
* cases are selected: `SelectionError`
* implementations are started and greeted: `ImplementationError`
* trials run: nothing escapes; a misbehaving implementation or adapter becomes a verdict
* reports are written: `ReportError`

Each class carries the exit code of its kind (`exit_code`, the table in the README); anything else that
escapes is our own bug and ends with 4. Messages name the thing in backticks, where it is, what was
expected, what came, and what to do next.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a file that somebody wrote: `path:line: message`."""

    path: str
    line: int | None
    message: str

    def __str__(self) -> str:
        """Return the form that editors and CI annotations can follow."""
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.message}"


class ConformError(Exception):
    """Base of everything that a user can cause; never shown with a traceback."""

    exit_code = 2


class UsageError(ConformError):
    """The command line or the config file asks for something that does not exist."""


class SourceError(ConformError):
    """Specs, cassettes or other files are wrong; holds every problem that was found."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        """Keep `problems` in the order of the files."""
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class SelectionError(ConformError):
    """A pattern, API or case that was asked for matches nothing."""


class ImplementationError(ConformError):
    """The implementation cannot be reached: not installed, does not start, or refuses the protocol."""

    exit_code = 3


class ReportError(ConformError):
    """A report cannot be written where it was asked for."""
