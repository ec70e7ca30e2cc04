"""`conform run --plant FILE`: run a planted bug, and print the cases that catch it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from streamconform.adapters.connect import Connection
from streamconform.errors import ImplementationError, UsageError
from streamconform.model.trial import Trial
from streamconform.plural import format_count
from streamconform.reports import planted
from streamconform.reports.style import StyledLine, print_lines
from streamconform.run.exits import Exit
from streamconform.run.session import FinishedRun, RunRequest

GROUP: Final = "streamconform.smallest"
"""The entry point: a function that takes a connection and a failing trial, and returns the smallest stream
that fails in the same way, as text for the terminal, or None.
"""
BUDGET: Final = 300.0
"""The default of `--budget`, so that a bug that hangs in every trial does not run for hours."""
FORM: Final = "plant:"
EXCLUDED: Final = ("impl", "program", "resume", "update", "last_failed")
"""The options that make no sense for a planted bug."""
_FRAME: Final = re.compile(r'File "([^"]+)", line ([0-9]+)')

Smallest = Callable[[Connection, Trial], str | None]


def apply_plant(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with the implementation and the limits for `--plant`, if it is given.

    Raises `UsageError` for an option that does not go with it.
    """
    file = arguments["plant"]
    if file is None:
        return arguments
    for name in EXCLUDED:
        if arguments[name]:
            option = "a program after `--`" if name == "program" else f"`--{name.replace('_', '-')}`"
            raise UsageError(f"`--plant` judges the bug in its file; leave out {option}")
    return {**arguments, "impl": (f"{FORM}{file}",), "budget": arguments["budget"] or BUDGET}


@contextmanager
def locate_load_error(file: str | None) -> Iterator[None]:
    """Say at which line of the planted file its import failed, instead of showing a traceback."""
    try:
        yield
    except ImplementationError as error:
        frames = _FRAME.findall(str(error))
        if file is None or not frames:
            raise
        path, line = frames[-1]
        reason = str(error).rstrip().rpartition("\n")[2].lstrip(" |")
        raise ImplementationError(f"{path}:{line}: `--plant {file}` cannot be imported: {reason}") from None


def is_answered(finished: FinishedRun) -> bool:
    """Return whether a run says anything about the planted bug, instead of why it ended."""
    return finished.exit in (Exit.EXPECTED, Exit.UNEXPECTED, Exit.UNUSABLE)


def answer_plant(request: RunRequest, finished: FinishedRun, *, quiet: int, verbose: bool) -> Exit:
    """Print which cases catch the bug; return 0 if one does, 1 if none does, 3 if the file is at fault."""
    connection, results = request.connections[0], finished.results
    file = connection.impl.removeprefix(FORM)
    catches = planted.list_catches(results, request.trials)
    lines = planted.describe_faults(file, results)
    exit_code = Exit.EXPECTED if catches else Exit.UNUSABLE if lines else Exit.UNEXPECTED
    if catches:
        lines += planted.describe_caught(file, results, catches, verbose=verbose)
    elif not lines:
        lines += planted.describe_not_caught(file, results)
    if finished.not_run:
        count = format_count(len(finished.not_run), "trial")
        lines.append(StyledLine(f"Out of time: {count} did not run; --budget SECONDS sets the limit"))
    print_lines(lines[: {0: None, 1: 1}.get(quiet, 0)])
    if catches and not quiet:
        _print_smallest(catches, connection)
    return exit_code


def _print_smallest(catches: list[planted.Catch], connection: Connection) -> None:
    trials = [catch.trial for catch in catches]
    streams = [trial for trial in trials if isinstance(trial, Trial) and trial.case.stream]
    text = _find_smallest(connection, streams[0]) if streams else None
    smallest = streams[0] if streams else trials[0]
    print_lines((StyledLine(""), StyledLine("The smallest input that catches it", "bold")))
    if text is None:
        print_lines(planted.describe_input(smallest))
    else:
        click.echo(text)


def _find_smallest(connection: Connection, trial: Trial) -> str | None:
    """Return the smallest stream that fails like `trial`, as text; None if nothing can make it smaller."""
    from importlib.metadata import entry_points  # few runs need it

    find: Smallest
    for entry in entry_points(group=GROUP):
        find = entry.load()
        return find(connection, trial)
    return None
