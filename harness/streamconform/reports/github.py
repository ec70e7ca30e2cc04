"""Annotations of a GitHub workflow: `::error title=…::…` on stdout becomes a mark on the run's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from streamconform.errors import Problem
from streamconform.model.result import Header, TrialResult
from streamconform.reports.causes import Cause, causes, reproduce
from streamconform.reports.words import briefly, called, counted, cut, printable, unexpected, warned
from streamconform.run.results import Results

SHOWN: Final = 10
"""Annotations of one level that GitHub shows of a step; it drops the others without a word."""
PROBLEMS_SHOWN: Final = 4
CASES_NAMED: Final = 5
DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
PROPERTY: Final = DATA | str.maketrans({":": "%3A", ",": "%2C"})


def render(results: Results) -> str:
    """Return a line an annotation: an error a cause, the commonest first, then warnings, then a count.

    A file is named where results know it: for entries of the known-failures file.
    """
    why = cut(results)
    failed = unexpected(results)
    lines: list[str] = []
    if why is not None:
        lines.append(_annotation("error", "streamconform: results are cut", why))
    problems = results.footer.problems if results.footer else ()
    lines += map(_problem, problems[:PROBLEMS_SHOWN])
    if len(problems) > PROBLEMS_SHOWN:
        more = f"{len(problems) - PROBLEMS_SHOWN} more entries are not true any more"
        lines.append(_annotation("notice", "streamconform: known failures", more))
    lines += _causes("error", failed, results, SHOWN - sum(line.startswith("::error") for line in lines))
    lines += _causes("warning", warned(results), results, SHOWN)
    lines.append(_annotation("notice", "streamconform", _summary(results, failed)))
    return "\n".join(lines)


def _causes(level: str, trials: list[TrialResult], results: Results, room: int) -> Iterator[str]:
    found = sorted(causes(trials), key=lambda cause: -cause.trials)
    for cause in found[:room]:
        yield _annotation(level, *_cause(cause, results.header))
    rest = found[room:]
    if rest:
        more = f"{len(rest)} more of this level, in {counted(sum(each.trials for each in rest), 'trial')}"
        yield _annotation("notice", f"streamconform: {level}s", f"{more}; the job's summary has all")


def _cause(cause: Cause, header: Header) -> tuple[str, str]:
    first = cause.failures[0]
    cases = list(dict.fromkeys(failure.first.case for failure in cause.failures))
    of = f" [{called(header)[cause.implementation]}]" if len(header.implementations) > 1 else ""
    tally = f"{counted(len(cases), 'case')}, {counted(cause.trials, 'trial')}"
    lines = [printable(first.first.title or first.first.case, 200), *briefly(first.first, first.check)]
    lines += [f"in {printable(case, 200)}" for case in cases[:CASES_NAMED]]
    if len(cases) > CASES_NAMED:
        lines.append(f"and in {len(cases) - CASES_NAMED} more")
    info = header.implementations[cause.implementation]
    lines.append(f"reproduce: {printable(reproduce(info, first.first, header), 1000)}")
    return f"{printable(cause.what, 200)}: {tally}{of}", "\n".join(lines)


def _problem(problem: Problem) -> str:
    """Return the annotation at the entry of the known-failures file that it is about."""
    at = {"file": problem.path, "line": str(problem.line or 1), "title": "streamconform: known failures"}
    return _command("error", at, printable(problem.message, 1000))


def _summary(results: Results, failed: list[TrialResult]) -> str:
    cases = len({each.case for each in results.trials})
    return f"{counted(cases, 'case')}, {counted(len(results.trials), 'trial')}, {len(failed)} unexpected"


def _annotation(level: str, title: str, message: str) -> str:
    return _command(level, {"title": title}, message)


def _command(level: str, properties: Mapping[str, str], message: str) -> str:
    given = ",".join(f"{k}={printable(v, 400).translate(PROPERTY)}" for k, v in properties.items())
    return f"::{level} {given}::{message.translate(DATA)}"
