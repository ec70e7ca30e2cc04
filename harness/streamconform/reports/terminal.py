"""Print a run to the terminal: implementations, a progress bar, failures by cause, and the headline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from streamconform.errors import Problem
from streamconform.model.result import Header, ImplementationInfo, TrialResult
from streamconform.printable import escape_line
from streamconform.reports.causes import (
    Cause,
    Failure,
    format_explain_command,
    format_run_command,
    group_by_cause,
    list_guarded_bugs,
)
from streamconform.reports.describe import (
    OUT_OF_DATE_TITLE,
    UPDATE_HINT,
    WARNINGS_TITLE,
    describe_difference,
    format_count,
)
from streamconform.reports.style import make_console
from streamconform.reports.summary import format_headline, list_problems
from streamconform.run.pool import is_unexpected
from streamconform.run.results import Results

MAX_CAUSES: Final = 12
MAX_CASES: Final = 3
"""Cases listed under one cause; the rest is counted, and `-v` lists all."""
MAX_BUGS: Final = 12
MAX_OTHER_CHECKS: Final = 6
MAX_FRAME_RANGES: Final = 8
MAX_TRACEBACK_LINES: Final = 5
DECIDED_AT_END: Final = ("status", "stop.reason", "stop.raw")
"""Paths that only the end of the stream decides, if no frame changed them."""
STYLES: Final = {
    "fail": "bold red",
    "hang": "bold red",
    "faulted": "bold magenta",
    "warn": "yellow",
    "may": "dim",
}


class Terminal:
    """Prints a run to a stream, with a progress bar if the stream is a terminal."""

    def __init__(self, *, quiet: int, verbose: int, strict: bool, stream: TextIO | None = None) -> None:
        """Print to `stream`, by default stdout; `quiet` and `verbose` are the counts of `-q` and `-v`."""
        self.console = make_console(stream or sys.stdout)
        self._quiet, self._verbose, self._strict = quiet, verbose, strict
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._failures = 0

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the progress bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def start(self, header: Header) -> None:
        """Print what is judged, and start the progress bar."""
        if self._quiet:
            return
        self._print(
            f"streamconform {header.version}, {format_count(header.cases, 'case')},"
            f" {format_count(header.trials, 'trial')}, seed {header.seed}"
        )
        for info in header.implementations:
            self._print(f"  {describe_implementation(info)}", "bold")
        if self.console.is_terminal:
            self._bar = Progress(
                TextColumn("  {task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=self.console,
                transient=True,
            )
            self._task = self._bar.add_task("judging", total=header.trials)
            self._bar.start()

    def advance(self, result: TrialResult) -> None:
        """Advance the progress bar by one trial."""
        if is_unexpected(result, strict=self._strict):
            self._failures += 1
        if self._bar is not None:
            description = f"judging, {self._failures:,} failed" if self._failures else "judging"
            self._bar.update(self._task, advance=1, description=description)

    def finish(self, results: Results, seconds: float | None) -> None:
        """Print warnings (with `-v`), failures by cause, problems of known failures, and the headline."""
        self.__exit__(None, None, None)
        unexpected = [trial for trial in results.trials if is_unexpected(trial, strict=self._strict)]
        # A known failure that passes is shown once, as a problem of its entry.
        failed = [trial for trial in unexpected if trial.verdict != "stale"]
        warned = [] if self._strict else [trial for trial in results.trials if trial.verdict == "warn"]
        problems = list_problems(results)
        if not self._quiet:
            if warned and self._verbose:
                self._print_causes(WARNINGS_TITLE, warned, results)
            if failed:
                self._print_causes("Failures by cause", failed, results)
            self._print_problems(problems, after_causes=bool(failed))
        style = "bold red" if unexpected or problems else "bold green"
        self._print(_format_last_line(results, seconds), style)

    def _print_problems(self, problems: Sequence[Problem], *, after_causes: bool) -> None:
        if not problems:
            return
        if not after_causes:
            self._print("")
        self._print(OUT_OF_DATE_TITLE, "bold underline")
        self._print("")
        for problem in problems:
            self._print(escape_line(str(problem), 400), "red")
        self._print("")
        self._print(UPDATE_HINT, "dim")
        self._print("")

    def _print_causes(self, title: str, trials: list[TrialResult], results: Results) -> None:
        self._print("")
        self._print(title, "bold underline")
        causes = group_by_cause(trials)
        shown = causes if self._verbose else causes[-MAX_CAUSES:]
        if len(shown) < len(causes):
            self._print(f"{len(causes) - len(shown)} less frequent causes are hidden; `-v` lists them", "dim")
        for number, cause in enumerate(shown, start=1):
            self._print_cause(number, cause, results)
        bugs = list_guarded_bugs(trials)
        if bugs:
            self._print("")
            listed = bugs if self._verbose else bugs[:MAX_BUGS]
            more = f" and {len(bugs) - len(listed)} more" if len(listed) < len(bugs) else ""
            self._print(f"Real bugs that these cases guard against: {', '.join(listed)}{more}", "cyan")
        self._print("")

    def _print_cause(self, number: int, cause: Cause, results: Results) -> None:
        info = results.header.implementations[cause.implementation]
        impl = f"  [{info.impl}]" if len(results.header.implementations) > 1 else ""
        first = cause.failures[0]
        style = STYLES.get(first.first.verdict, "bold")
        cases = len({failure.first.case for failure in cause.failures})
        self._print("")
        culprit = ", caused by the adapter" if first.first.culprit == "adapter" else ""
        tally = f"{format_count(cases, 'case')}, {format_count(cause.trials, 'trial')}{culprit}{impl}"
        title = f"{number}. {escape_line(cause.title, 300)}"
        self.console.print(Text.assemble((title, style), f"  {tally}"))
        shown = cause.failures if self._verbose else cause.failures[:MAX_CASES]
        for failure in shown:
            self._print_failure(failure, info, results)
        hidden = len(cause.failures) - len(shown)
        if hidden:
            self._print(f"   … and {hidden} more; `-v` lists them", "dim")

    def _print_failure(self, failure: Failure, info: ImplementationInfo, results: Results) -> None:
        first, check = failure.first, failure.check
        deliveries = _format_deliveries(failure, results)
        self.console.print(
            Text.assemble("   ", (first.case, "bold"), f"  {deliveries}" if deliveries else "")
        )
        if first.title:
            self._print(f"      {escape_line(first.title, 160)}", "italic")
        if check is not None:
            line, *more_lines = describe_difference(check)
            self._print(
                "\n".join((f"      {check.path}: {line}", *(f"        {text}" for text in more_lines)))
            )
            if check.frames:
                # `conform explain` needs a case of the suite, and a probe's questions are not in it.
                command = format_explain_command(info, first, results.header)
                hint = "" if "probe" in results.header.selection else f"; to see them: `{command}`"
                self._print(f"      relevant {format_frames(check.frames)}{hint}", "dim")
            elif check.path in DECIDED_AT_END:
                self._print("      relevant: the end of the stream", "dim")
        if first.reason:
            self._print(f"      {escape_line(first.reason, 300)}")
        for line in _read_traceback(first):
            self._print(f"      | {escape_line(line, 160)}", "dim")
        if failure.also:
            others = failure.also[:MAX_OTHER_CHECKS]
            more = f" and {len(failure.also) - len(others)} more" if len(others) < len(failure.also) else ""
            self._print(f"      also failed: {', '.join(others)}{more}", "dim")
        if first.guards:
            self._print(f"      guards against {', '.join(first.guards)}", "cyan")
        self._print(f"      reproduce: {format_run_command(info, first, results.header)}", "dim")

    def _print(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style))


def describe_implementation(info: ImplementationInfo) -> str:
    """Return name, version, language, input mode and `--impl` value of an implementation."""
    version = f" {info.version}" if info.version else ""
    details = ", ".join(text for text in (info.language, info.input) if text)
    via = "" if info.impl == info.name else f" via {info.impl}"
    return escape_line(f"{info.name}{version} ({details}){via}", 200)


def format_frames(numbers: tuple[int, ...]) -> str:
    """Return `frame: 3` or `frames: 1, 3-6`; consecutive numbers become ranges, and long lists are cut."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    ranges = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:MAX_FRAME_RANGES]]
    more = ", …" if len(runs) > MAX_FRAME_RANGES else ""
    return f"frame{'s' if len(numbers) > 1 else ''}: {', '.join(ranges)}{more}"


def _format_last_line(results: Results, seconds: float | None) -> str:
    """Return the headline with the time taken, and the number of trials that did not run."""
    headline = format_headline(results)
    if seconds is not None:
        headline += f"; ran in {seconds:.1f} s" if " failed, in " in headline else f" in {seconds:.1f} s"
    if results.footer is not None and results.footer.complete:
        return headline
    not_run = format_count(results.header.trials - len(results.trials), "trial")
    return f"{headline}; incomplete, {not_run} not run"


def _format_deliveries(failure: Failure, results: Results) -> str:
    """Return the names of the deliveries that failed, or `all 9 deliveries`."""
    first = failure.first
    total = sum(
        trial.case == first.case and trial.implementation == first.implementation for trial in results.trials
    )
    names = failure.deliveries
    return f"all {total} deliveries" if len(names) == total > 2 else ", ".join(names)


def _read_traceback(result: TrialResult) -> list[str]:
    """Return the last lines of the adapter's own traceback, if it sent one."""
    text = (result.observation or {}).get("traceback")
    return text.strip().splitlines()[-MAX_TRACEBACK_LINES:] if isinstance(text, str) else []
