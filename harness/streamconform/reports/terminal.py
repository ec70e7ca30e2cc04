"""What `conform run` prints: who is judged, a progress bar, what is unexpected by cause, a count."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from streamconform.errors import Problem
from streamconform.model.result import Header, ImplementationInfo, TrialResult
from streamconform.reports.causes import Cause, Failure, causes, explains, guards, reproduce
from streamconform.reports.words import counted, difference, printable
from streamconform.run.pool import is_unexpected
from streamconform.run.results import Results

CAUSES_SHOWN: Final = 12
CASES_SHOWN: Final = 3
"""Cases listed under one cause; the rest is counted, and `-v` lists all."""
FRAMES_SHOWN: Final = 8
TRACEBACK_LINES: Final = 5
AT_THE_END: Final = ("status", "stop.reason", "stop.raw")
"""What no frame but the end of the stream decides, where no frame changed it."""
STYLES: Final = {
    "fail": "bold red",
    "hang": "bold red",
    "faulted": "bold magenta",
    "warn": "yellow",
    "may": "dim",
}


class Terminal:
    """Prints a run to a stream; the bar only where that is a terminal."""

    def __init__(self, *, quiet: int, verbose: int, strict: bool, stream: TextIO | None = None) -> None:
        """Print to `stream`, by default stdout; `quiet` and `verbose` count the options given."""
        out = stream or sys.stdout
        self.console = Console(file=out, highlight=False, soft_wrap=True, width=None if out.isatty() else 120)
        self._quiet, self._verbose, self._strict = quiet, verbose, strict
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._unexpected = 0

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away, whatever happened."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def begun(self, header: Header) -> None:
        """Say who is judged by what."""
        if self._quiet:
            return
        self._line(
            f"streamconform {header.version}, {counted(header.cases, 'case')},"
            f" {counted(header.trials, 'trial')}, seed {header.seed}"
        )
        for info in header.implementations:
            self._line(f"  {described(info)}", "bold")
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

    def ended(self, result: TrialResult) -> None:
        """Move the bar."""
        if is_unexpected(result, strict=self._strict):
            self._unexpected += 1
        if self._bar is not None:
            said = f"judging, {self._unexpected} unexpected" if self._unexpected else "judging"
            self._bar.update(self._task, advance=1, description=said)

    def finished(self, results: Results, seconds: float | None) -> None:
        """Print warnings, then what is unexpected, then the count."""
        self.__exit__(None, None, None)
        unexpected = [each for each in results.trials if is_unexpected(each, strict=self._strict)]
        failed = [each for each in unexpected if each.verdict != "stale"]  # its entry is a problem already
        warned = [] if self._strict else [each for each in results.trials if each.verdict == "warn"]
        if not self._quiet:
            if warned and self._verbose:
                self._causes("Warnings: these differ, but the provider's words leave room", warned, results)
            if failed:
                self._causes("Unexpected", failed, results)
            self._problems(problems_of(results), after_causes=bool(failed))
        wrong = unexpected or problems_of(results)
        self._line(summary(results, unexpected, seconds), "bold red" if wrong else "bold green")

    def _problems(self, problems: Sequence[Problem], *, after_causes: bool) -> None:
        if not problems:
            return
        if not after_causes:
            self._line("")
        self._line("Known failures that are not true any more", "bold underline")
        self._line("")
        for problem in problems:
            self._line(printable(str(problem), 400), "red")
        self._line("")
        self._line("`conform run --update-known-failures` mends the file, all but what has expired", "dim")
        self._line("")

    def _causes(self, title: str, failed: list[TrialResult], results: Results) -> None:
        self._line("")
        self._line(title, "bold underline")
        found = causes(failed)
        shown = found if self._verbose else found[-CAUSES_SHOWN:]
        if len(shown) < len(found):
            self._line(f"{len(found) - len(shown)} rarer causes are not shown; `-v` lists them", "dim")
        for number, cause in enumerate(shown, start=1):
            self._cause(number, cause, results)
        bugs = guards(failed)
        if bugs:
            self._line("")
            named = ", ".join(bugs if self._verbose else bugs[:12])
            more = f" and {len(bugs) - 12} more" if len(bugs) > 12 and not self._verbose else ""
            self._line(f"Real bugs that these cases guard against: {named}{more}", "cyan")
        self._line("")

    def _cause(self, number: int, cause: Cause, results: Results) -> None:
        info = results.header.implementations[cause.implementation]
        of = f"  [{info.impl}]" if len(results.header.implementations) > 1 else ""
        first = cause.failures[0]
        style = STYLES.get(first.first.verdict, "bold")
        cases = len({failure.first.case for failure in cause.failures})
        self._line("")
        fault = ", the adapter's fault" if first.first.culprit == "adapter" else ""
        tally = f"{counted(cases, 'case')}, {counted(cause.trials, 'trial')}{fault}{of}"
        self.console.print(Text.assemble((f"{number}. {printable(cause.what, 300)}", style), f"  {tally}"))
        shown = cause.failures if self._verbose else cause.failures[:CASES_SHOWN]
        for failure in shown:
            self._failure(failure, info, results)
        hidden = len(cause.failures) - len(shown)
        if hidden:
            self._line(f"   … and {hidden} more, which `-v` lists", "dim")

    def _failure(self, failure: Failure, info: ImplementationInfo, results: Results) -> None:
        first, check = failure.first, failure.check
        named = _deliveries(failure, results)
        self.console.print(Text.assemble("   ", (first.case, "bold"), f"  {named}" if named else ""))
        if first.title:
            self._line(f"      {printable(first.title, 160)}", "italic")
        if check is not None:
            words = difference(check)
            self._line(
                "\n".join((f"      {check.path}: {words[0]}", *(f"        {each}" for each in words[1:])))
            )
            if check.frames:
                shown = f"; `{explains(info, first, results.header)}` shows them"
                told = "" if "probe" in results.header.selection else shown
                self._line(f"      decided by {frames(check.frames)}{told}", "dim")
            elif check.path in AT_THE_END:
                self._line("      decided by the end of the stream", "dim")
        if first.reason:
            self._line(f"      {printable(first.reason, 300)}")
        for line in _traceback(first):
            self._line(f"      | {printable(line, 160)}", "dim")
        if failure.also:
            more = f" and {len(failure.also) - 6} more" if len(failure.also) > 6 else ""
            self._line(f"      also {', '.join(failure.also[:6])}{more}", "dim")
        if first.guards:
            self._line(f"      guards against {', '.join(first.guards)}", "cyan")
        self._line(f"      reproduce: {reproduce(info, first, results.header)}", "dim")

    def _line(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style))


def summary(results: Results, unexpected: Sequence[TrialResult], seconds: float | None) -> str:
    """Return the last line: `N cases, M trials, K unexpected` and what else is to be known."""
    cases = len({result.case for result in results.trials})
    words = [counted(cases, "case"), counted(len(results.trials), "trial"), f"{len(unexpected)} unexpected"]
    worst = Counter(result.verdict for result in unexpected)
    kinds = [f"{count} {verdict}" for verdict, count in sorted(worst.items())]
    words[-1] += f" ({', '.join(kinds)})" if kinds else ""
    counts = Counter(result.verdict for result in results.trials) - worst
    wrong = len(problems_of(results))
    words += [f"{counts[verdict]} {verdict}" for verdict in ("warn", "known", "skipped") if counts[verdict]]
    words += [f"{wrong} untrue known-failures {'entry' if wrong == 1 else 'entries'}"] if wrong else []
    cut = results.footer is None or not results.footer.complete
    not_run = results.header.trials - len(results.trials)
    took = "" if seconds is None else f" in {seconds:.1f} s"
    return f"{', '.join(words)}{took}" + (f" (cut short, {not_run} trials not run)" if cut else "")


def problems_of(results: Results) -> tuple[Problem, ...]:
    """Return what is wrong with the known-failures file."""
    return () if results.footer is None else results.footer.problems


def described(info: ImplementationInfo) -> str:
    """Return who is judged and how it is reached."""
    version = f" {info.version}" if info.version else ""
    reached = ", ".join(word for word in (info.language, info.input) if word)
    via = "" if info.impl == info.name else f" via {info.impl}"
    return printable(f"{info.name}{version} ({reached}){via}", 200)


def frames(numbers: tuple[int, ...]) -> str:
    """Return frame numbers with runs as ranges, cut after some."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:FRAMES_SHOWN]]
    more = ", …" if len(runs) > FRAMES_SHOWN else ""
    return f"frame{'s' if len(numbers) > 1 else ''} {', '.join(words)}{more}"


def _deliveries(failure: Failure, results: Results) -> str:
    """Return the deliveries that failed, or that all of them did."""
    first = failure.first
    every = sum(t.case == first.case and t.implementation == first.implementation for t in results.trials)
    names = failure.deliveries
    return f"all {every} deliveries" if len(names) == every > 2 else ", ".join(names)


def _traceback(result: TrialResult) -> list[str]:
    """Return the end of the adapter's own traceback, where it gave one."""
    text = (result.observation or {}).get("traceback")
    return text.strip().splitlines()[-TRACEBACK_LINES:] if isinstance(text, str) else []
