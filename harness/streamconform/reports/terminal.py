"""Print a run to the terminal: the implementations, a progress bar, failures by cause, and the headline."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TextIO

from streamconform.causes.raised import describe_error
from streamconform.errors import Problem
from streamconform.model.result import Header, ImplementationInfo, TrialResult, is_unexpected
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.reports.causes import (
    CULPRITS,
    Cause,
    CauseLists,
    Failure,
    describe_also,
    describe_harm,
    describe_size,
    format_explain_command,
    format_run_command,
    list_causes,
    list_guarded_bugs,
)
from streamconform.reports.describe import (
    ADAPTER_WARNINGS_TITLE,
    CLAIMS_TITLE,
    FAILURES_TITLE,
    OUT_OF_DATE_TITLE,
    UPDATE_HINT,
    WARNINGS_TITLE,
    describe_difference,
)
from streamconform.reports.resources import TITLE as RESOURCES_TITLE
from streamconform.reports.resources import format_resources
from streamconform.reports.server_log import describe_log
from streamconform.reports.style import StyledLine, make_console, make_text
from streamconform.reports.summary import (
    describe_borrowed_parser,
    describe_claims,
    describe_not_exposed,
    describe_skipped,
    describe_unknown_keys,
    describe_unnoticed,
    describe_warnings,
    format_headline,
    is_inconsistent,
    list_problems,
    needs_attention,
)
from streamconform.reports.tracebacks import read_traceback
from streamconform.run.results import Results

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

MAX_CAUSES: Final = 12
MAX_WARNINGS: Final = 6
"""The maximum number of causes listed; the rest are counted, and `-v` lists all."""
MAX_CASES: Final = 3
"""The maximum number of cases listed per cause; the rest are counted, and `-v` lists all."""
MAX_DELIVERIES: Final = 6
MAX_SKIP_REASONS: Final = 12
MAX_ROWS: Final = 15
"""The maximum number of lines of the table of causes."""
TITLE_WIDTH: Final = 40
MAX_FRAME_RANGES: Final = 8
DECIDED_AT_END: Final = ("status", "stop.reason", "stop.raw")
"""Paths whose values depend on the end of the stream if no frame changed them."""
STYLES: Final = {
    "fail": "bold red",
    "hang": "bold red",
    "faulted": "bold magenta",
    "warn": "yellow",
    "may": "dim",
}


class Terminal:
    """Prints a run to a stream, with a progress bar if the stream is a terminal."""

    def __init__(
        self,
        *,
        quiet: int,
        verbose: int,
        strict: bool,
        durations: int | None = None,
        stream: TextIO | None = None,
    ) -> None:
        """Print to `stream` (default: stdout); `quiet` and `verbose` count the `-q` and `-v` options.

        `durations` is the number of slowest trials to list; 0 lists all, None lists none.
        """
        self.console = make_console(stream or sys.stdout)
        self._quiet, self._verbose, self._strict = quiet, verbose, strict
        self._durations = durations
        self._bar: Progress | None = None
        self._task: TaskID | None = None
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
        """Print the implementations and the selection, and start the progress bar."""
        if self._quiet:
            return
        self._print(
            f"streamconform {header.version}, {format_count(header.cases, 'case')},"
            f" {format_count(header.trials, 'trial')}, seed {header.seed}"
        )
        for info in header.implementations:
            self._print(f"  {describe_implementation(info)}", "bold")
        if self.console.is_terminal:
            # Imported here because only a run on a terminal has a bar.
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
            assert self._task is not None, "a bar has a task"
            self._bar.update(self._task, advance=1, description=description)

    def finish(self, results: Results, seconds: float | None) -> None:
        """Print warnings and failures by cause, other problems, and the headline."""
        # Remove the bar first, because it would overwrite lines that are printed while it runs.
        self.__exit__(None, None, None)
        unexpected = [trial for trial in results.trials if is_unexpected(trial, strict=self._strict)]
        problems, claims = list_problems(results), describe_claims(results)
        causes = list_causes(results)
        if not self._quiet:
            has_causes = self._print_cause_lists(causes, results)
            self._print_claims(claims, after_causes=has_causes)
            self._print_problems(problems, after_causes=has_causes or bool(claims))
            self._print_not_judged(results)
            self._print_resources(results)
            self._print_durations(results)
        style = "bold red" if unexpected or problems or claims else "bold green"
        if style == "bold green" and needs_attention(results):
            style = "bold yellow"
        self._print(_format_last_line(results, causes, seconds), style)
        if not self._quiet:
            for command in list_smoke_commands(results, strict=self._strict):
                self._print(f"next: {command}", "dim")

    def _print_durations(self, results: Results) -> None:
        if self._durations is None:
            return
        slowest = list_slowest(results.trials, self._durations)
        infos = results.header.implementations
        self._print("")
        self._print(f"Slowest {format_count(len(slowest), 'trial')}", "bold underline")
        self._print("")
        for trial in slowest:
            impl = f"  [{escape_line(infos[trial.implementation].impl, 200)}]" if len(infos) > 1 else ""
            self._print(f"{trial.ms / 1000:>9.3f} s  {escape_line(trial.id, 300)}{impl}")
        self._print("")

    def _print_resources(self, results: Results) -> None:
        lines = format_resources(results)
        if lines:
            self._print("")
            self._print(RESOURCES_TITLE, "bold underline")
            self._print("")
            for line in lines:
                self._print(line)
            self._print("")

    def _print_not_judged(self, results: Results) -> None:
        """Print what a green headline does not cover: warnings, skipped trials, and values left out."""
        skipped = describe_skipped(results)
        shown = skipped if self._verbose else skipped[:MAX_SKIP_REASONS]
        more = format_count(len(skipped) - len(shown), "more reason") if len(shown) < len(skipped) else None
        for line in (
            describe_warnings(results),
            *shown,
            more and f"{more} for skipped trials; `-v` lists them",
            describe_not_exposed(results),
            describe_unnoticed(results),
            *describe_unknown_keys(results),
            *describe_borrowed_parser(results),
        ):
            if line:
                self._print(line, "dim")

    def _print_claims(self, claims: Sequence[str], *, after_causes: bool) -> None:
        if not claims:
            return
        if not after_causes:
            self._print("")
        self._print(CLAIMS_TITLE, "bold underline")
        self._print("")
        for claim in claims:
            self._print(claim, "red")
        self._print("")

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

    def _print_cause_lists(self, causes: CauseLists, results: Results) -> bool:
        """Print a table of all causes, then each in detail; return whether there are any."""
        listed = (*causes.failed, *causes.warned, *causes.adapter)
        if len(listed) > 1:
            self._print("")
            self._print("Causes", "bold underline")
            for line in list_cause_rows(listed):
                self._print(line, "" if line.startswith(" ") else "bold")
        number = 1
        for title, group in (
            (FAILURES_TITLE, causes.failed),
            (WARNINGS_TITLE, causes.warned),
            (ADAPTER_WARNINGS_TITLE, causes.adapter),
        ):
            if group:
                self._print_causes(title, group, number, results)
            number += len(group)
        return bool(listed)

    def _print_causes(self, title: str, causes: Sequence[Cause], number: int, results: Results) -> None:
        """Print `causes`, which are numbered from `number` on."""
        brief = title != FAILURES_TITLE and not self._verbose
        self._print("")
        self._print(title, "bold underline")
        shown = causes if self._verbose else causes[: MAX_WARNINGS if brief else MAX_CAUSES]
        for cause_number, cause in enumerate(shown, start=number):
            self._print_cause(cause_number, cause, results, brief=brief)
        if len(shown) < len(causes):
            self._print("")
            self._print(f"{format_count(len(causes) - len(shown), 'more cause')}; `-v` lists them", "dim")
        bugs = list_guarded_bugs(causes) if self._verbose else ()
        if bugs:
            self._print("")
            self._print(f"Real bugs that these cases guard against: {', '.join(bugs)}", "cyan")
        self._print("")

    def _print_cause(self, number: int, cause: Cause, results: Results, *, brief: bool) -> None:
        info = results.header.implementations[cause.implementation]
        impl = f"  [{info.impl}]" if len(results.header.implementations) > 1 else ""
        first = cause.failures[0]
        style = STYLES.get(first.first.verdict, "bold")
        self._print("")
        title = StyledLine(f"{number}. {cause.title}", style)
        self.console.print(make_text(title, StyledLine(f"  {describe_size(cause)}{impl}")))
        self._print(f"   {describe_harm(cause)}")
        if self._verbose:
            self._print(f"   cause: {cause.id}, api: {cause.api}", "dim")
        shown = cause.failures if self._verbose else cause.failures[:1]
        for failure in shown:
            self._print_failure(failure, results, brief=brief)
        others = [] if self._verbose else list(_name_other_cases(cause))
        if others:
            more = f" and {len(others) - MAX_CASES} more" if len(others) > MAX_CASES else ""
            self._print(f"   also in {', '.join(others[:MAX_CASES])}{more}", "dim")
        also = describe_also(cause)
        if also:
            self._print(f"   {also}", "dim")
        self._print(f"   reproduce: {_format_reproduction(info, first.first, results)}", "dim")

    def _print_failure(self, failure: Failure, results: Results, *, brief: bool) -> None:
        first, check = failure.first, failure.check
        deliveries = _format_deliveries(failure, results)
        name, after = StyledLine(first.case, "bold"), f"  {deliveries}" if deliveries else ""
        self.console.print(make_text(StyledLine("   "), name, StyledLine(after)))
        if first.title:
            self._print(f"      {escape_line(first.title, 160)}", "italic")
        if check is not None:
            line, *more_lines = describe_difference(check)
            self._print(f"      {check.path}: {line}")
            for text in more_lines:
                self._print(f"        {text}")
        for line in describe_error(first):
            self._print(f"      {line}", "bold")
        if check is not None and not brief:
            if check.frames:
                self._print(f"      relevant {format_frames(check.frames)}", "dim")
            elif check.path in DECIDED_AT_END:
                self._print("      relevant: the end of the stream", "dim")
        if first.reason:
            self._print(f"      {escape_line(first.reason, 300)}")
        for line in describe_log(first.observation):
            self._print(f"      {line}", "dim")
        for line in read_traceback(first.observation):
            self._print(f"      | {line}", "dim")
        if first.guards and self._verbose:
            self._print(f"      guards against {', '.join(first.guards)}", "cyan")

    def _print(self, text: str, style: str = "") -> None:
        self.console.print(make_text(StyledLine(text, style)))


def list_cause_rows(causes: Sequence[Cause]) -> list[str]:
    """Return a table of causes of at most `MAX_ROWS` lines, grouped by harm: number, title, cases and API."""
    rows: list[str] = []
    shown, heading = 0, None
    for number, cause in enumerate(causes, start=1):
        lines = [f"{number:>4}. {_format_title(cause)}  {format_count(cause.cases, 'case'):>11}  {cause.api}"]
        if _format_heading(cause) != heading:
            heading = _format_heading(cause)
            lines.insert(0, heading)
        # One line is left for the number of the others.
        if len(rows) + len(lines) > MAX_ROWS - (number < len(causes)):
            break
        rows += lines
        shown = number
    if shown < len(causes):
        rows.append(f"      and {format_count(len(causes) - shown, 'more cause')}")
    return rows


def _format_heading(cause: Cause) -> str:
    """Return the line above a cause in the table: its harm, and whether it only warns."""
    harm = cause.harm or f"at fault: {CULPRITS[cause.culprit]}"
    return harm if cause.failed else f"{harm} (warning)"


def _format_title(cause: Cause) -> str:
    title = cause.title
    return f"{title:<{TITLE_WIDTH}}" if len(title) <= TITLE_WIDTH else f"{title[: TITLE_WIDTH - 1]}…"


def _format_reproduction(info: ImplementationInfo, result: TrialResult, results: Results) -> str:
    """Return the command that judges this one trial again and shows it in full."""
    # `conform explain` needs a case in the suite, which a probe's questions are not.
    if "probe" in results.header.selection:
        return format_run_command(info, result, results.header)
    return format_explain_command(info, result, results.header)


def list_slowest(trials: Sequence[TrialResult], count: int) -> list[TrialResult]:
    """Return the `count` trials that took longest, slowest first; 0 means all trials that ran."""
    ran = [trial for trial in trials if trial.verdict != "skipped"]
    slowest = sorted(ran, key=lambda trial: (-trial.ms, trial.id))
    return slowest[: count or None]


def list_smoke_commands(results: Results, *, strict: bool) -> list[str]:
    """Return the command that checks the adapter of each implementation with an adapter error."""
    if "probe" in results.header.selection:  # a server has no adapter
        return []
    faulty = {
        trial.implementation
        for trial in results.trials
        if trial.culprit == "adapter" and (trial.verdict == "warn" or is_unexpected(trial, strict=strict))
    }
    impls = [results.header.implementations[number].impl for number in sorted(faulty)]
    # A run that was stopped early says so with its reason.
    stopped = (results.footer and results.footer.stopped) or ""
    commands = (f"conform smoke {shlex.quote(impl)}" for impl in impls if not impl.startswith("proxy:"))
    return [command for command in commands if command not in stopped]


def describe_implementation(info: ImplementationInfo) -> str:
    """Return an implementation's name, version, language, input mode and `--impl` value."""
    version = f" {info.version}" if info.version else ""
    details = ", ".join(text for text in (info.language, info.input) if text)
    via = "" if info.impl == info.name else f" via {info.impl}"
    return escape_line(f"{info.name}{version} ({details}){via}", 200)


def format_frames(numbers: tuple[int, ...]) -> str:
    """Return `frame: 3` or `frames: 1, 3-6`: consecutive numbers become ranges; long lists are truncated."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    ranges = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:MAX_FRAME_RANGES]]
    more = ", …" if len(runs) > MAX_FRAME_RANGES else ""
    return f"frame{'s' if len(numbers) > 1 else ''}: {', '.join(ranges)}{more}"


def _format_last_line(results: Results, causes: CauseLists, seconds: float | None) -> str:
    """Return the headline with the time taken, and the number of trials that did not run."""
    headline = format_headline(results, causes)
    if seconds is not None:
        headline += f"; ran in {seconds:.1f} s" if headline.startswith("Failed: ") else f" in {seconds:.1f} s"
    if (results.footer is not None and results.footer.complete) or is_inconsistent(results):
        return headline
    not_run = format_count(results.header.trials - len(results.trials), "trial")
    stopped = results.footer.stopped if results.footer is not None else None
    because = f": {escape_line(stopped, 400)}" if stopped else ""
    return f"{headline}; incomplete, {not_run} not run{because}"


def _format_deliveries(failure: Failure, results: Results) -> str:
    """Return the names of the deliveries that failed, or `all 9 deliveries`."""
    first = failure.first
    total = sum(
        trial.case == first.case and trial.implementation == first.implementation for trial in results.trials
    )
    names = failure.deliveries
    if len(names) == total > 2:
        return f"all {total} deliveries"
    more = f" and {len(names) - MAX_DELIVERIES} more" if len(names) > MAX_DELIVERIES else ""
    return ", ".join(names[:MAX_DELIVERIES]) + more


def _name_other_cases(cause: Cause) -> Iterator[str]:
    """Yield each case of `cause` once, except the first one."""
    first = cause.failures[0].first.case
    yield from dict.fromkeys(failure.first.case for failure in cause.failures if failure.first.case != first)
