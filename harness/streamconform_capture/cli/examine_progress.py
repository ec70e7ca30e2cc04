"""Show the progress of a comparison: a bar on a terminal, otherwise occasional lines."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from streamconform.plural import format_count
from streamconform.reports.style import PlainConsole
from streamconform_capture.compare.drive import Advance
from streamconform_capture.compare.part import Part

LINE_SECONDS: Final = 10.0
"""Seconds between two lines if stdout is not a terminal."""


class ExamineProgress:
    """Prints the number of recordings, the rate, the number of causes and the time left."""

    def __init__(self, console: Console | PlainConsole | None, total: int) -> None:
        """Print to `console`, if there is one; `total` is the total input size in bytes."""
        self.found = Part()
        """The totals so far."""
        self._console = console
        self._total = total
        self._started = self._last_line = time.monotonic()
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        """Start the bar."""
        if self._console is not None and self._console.is_terminal:
            columns = (TextColumn("  {task.description}"), BarColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("starting", total=self._total or None)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()

    def advance(self, advance: Advance) -> None:
        """Show the totals so far."""
        self.found = advance.found
        now = time.monotonic()
        seconds = max(now - self._started, 1e-6)
        found = advance.found
        line = (
            f"{format_count(found.recordings, 'recording')}, {found.recordings / seconds:,.0f}/s, "
            f"{format_count(len(found.causes), 'cause')}"
        )
        if self._bar is not None:
            self._bar.update(self._task, completed=advance.done, description=line)
        elif self._console is not None and now - self._last_line >= LINE_SECONDS:
            self._last_line = now
            left = seconds * (self._total - advance.done) / advance.done if advance.done else 0
            self._console.print(f"  {line}, about {_format_seconds(left)} left")


def _format_seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
