"""GitHub workflow annotations: GitHub shows `::error title=…::…` from stdout on the run's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from streamconform.causes.raised import describe_error
from streamconform.errors import Problem
from streamconform.model.result import Header
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.reports.causes import (
    Cause,
    describe_harm,
    describe_size,
    format_explain_command,
    format_run_command,
    list_causes,
)
from streamconform.reports.describe import describe_failure, name_implementations
from streamconform.reports.summary import (
    describe_claims,
    describe_incomplete,
    format_headline,
    list_problems,
)
from streamconform.run.results import Results

MAX_ANNOTATIONS: Final = 10
"""The number of annotations that GitHub shows per level and step; it silently drops the others."""
# Fewer than half of the annotations that GitHub shows, to leave room for the causes of failures.
MAX_PROBLEMS: Final = 4
MAX_CASES: Final = 5
ESCAPE_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
ESCAPE_PROPERTY: Final = ESCAPE_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def render(results: Results) -> str:
    """Return one line per annotation: errors by cause, worst harm first, then warnings, then the headline.

    Only problems in the known-failures file have a file and line: results contain no other source location.
    """
    reason = describe_incomplete(results)
    lines: list[str] = []
    if reason is not None:
        lines.append(_format_annotation("error", "streamconform: results are incomplete", reason))
    claims = describe_claims(results)
    if claims:
        lines.append(_format_annotation("error", "streamconform: claims never compared", "\n".join(claims)))
    problems = list_problems(results)
    lines += map(_format_problem, problems[:MAX_PROBLEMS])
    if len(problems) > MAX_PROBLEMS:
        more = f"{len(problems) - MAX_PROBLEMS} more entries are out of date"
        lines.append(_format_annotation("notice", "streamconform: known failures", more))
    # The lines above share GitHub's limit on errors with the causes.
    room = MAX_ANNOTATIONS - sum(line.startswith("::error") for line in lines)
    causes = list_causes(results)
    lines += _format_causes("error", causes.failed, results, room)
    lines += _format_causes("warning", (*causes.warned, *causes.adapter), results, MAX_ANNOTATIONS)
    lines.append(_format_annotation("notice", "streamconform", format_headline(results, causes)))
    return "\n".join(lines)


def _format_causes(level: str, causes: Sequence[Cause], results: Results, room: int) -> Iterator[str]:
    for cause in causes[:room]:
        yield _format_annotation(level, *_describe_cause(cause, results.header))
    hidden = causes[room:]
    if hidden:
        trial_count = format_count(sum(cause.trials for cause in hidden), "trial")
        message = f"{len(hidden)} more {level}s, in {trial_count}; see the job's summary for all of them"
        yield _format_annotation("notice", f"streamconform: {level}s", message)


def _describe_cause(cause: Cause, header: Header) -> tuple[str, str]:
    """Return the title and the message of the annotation for `cause`."""
    first = cause.failures[0]
    cases = list(dict.fromkeys(failure.first.case for failure in cause.failures))
    impl = ""
    if len(header.implementations) > 1:
        impl = f" [{name_implementations(header)[cause.implementation]}]"
    lines = [
        describe_harm(cause),
        escape_line(first.first.title or first.first.case, 200),
        *describe_failure(first.first, first.check),
        *describe_error(first.first),
        *(f"in {escape_line(case, 200)}" for case in cases[:MAX_CASES]),
    ]
    if len(cases) > MAX_CASES:
        lines.append(f"and in {len(cases) - MAX_CASES} more cases")
    info = header.implementations[cause.implementation]
    if "probe" not in header.selection:
        lines.append(f"next: {escape_line(format_explain_command(info, first.first, header), 1000)}")
    lines.append(f"reproduce: {escape_line(format_run_command(info, first.first, header), 1000)}")
    return f"{escape_line(cause.title, 300)}: {describe_size(cause)}{impl}", "\n".join(lines)


def _format_problem(problem: Problem) -> str:
    """Return the annotation for the known-failures entry that `problem` is about."""
    properties = {
        "file": problem.path,
        "line": str(problem.line or 1),
        "title": "streamconform: known failures",
    }
    return _format_command("error", properties, escape_line(problem.message, 1000))


def _format_annotation(level: str, title: str, message: str) -> str:
    return _format_command(level, {"title": title}, message)


def _format_command(level: str, properties: Mapping[str, str], message: str) -> str:
    pairs = ",".join(
        f"{name}={escape_line(value, 400).translate(ESCAPE_PROPERTY)}" for name, value in properties.items()
    )
    return f"::{level} {pairs}::{message.translate(ESCAPE_DATA)}"
