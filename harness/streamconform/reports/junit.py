"""JUnit XML for Jenkins, Surefire and GitLab: one suite per implementation and API, one test per trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from streamconform.causes.raised import describe_error
from streamconform.model.result import ImplementationInfo, TrialResult
from streamconform.printable import escape_line
from streamconform.reports.causes import describe_harm, format_run_command, group_by_cause, list_causes
from streamconform.reports.describe import (
    VERDICT_LABELS,
    describe_check,
    describe_failure,
    name_implementations,
)
from streamconform.reports.summary import (
    describe_claims,
    describe_incomplete,
    find_unexpected,
    list_problems,
)
from streamconform.reports.terminal import format_frames
from streamconform.reports.tracebacks import read_traceback
from streamconform.run.results import Results

ERROR_VERDICTS: Final = frozenset({"faulted", "hang"})
MAX_BODY: Final = 16_000
"""The maximum length of the text about a trial; thousands of trials may fail in one run."""
MAX_CHECKS: Final = 20
"""The maximum number of checks listed in the body of a failure; the rest are counted."""
WIDTH: Final = 400
"""The approximate maximum line length; the command at the end of a body may be four times as long."""


def render(results: Results) -> str:
    """Return the document. Times are 0, so that the same run always produces the same bytes.

    The verdicts fail and stale become `failure`, faulted and hang become `error`, known and skipped become
    `skipped`; a warning's text goes to `system-out`. Incomplete results, claims that were never compared and
    known-failures entries that are out of date also add a failed test in a suite named `streamconform`;
    otherwise, a tool that shows only tests would show such a run as green.
    """
    root = Element("testsuites")
    names = name_implementations(results.header)
    unexpected = {id(trial) for trial in find_unexpected(results)}
    groups: dict[tuple[int, str], list[TrialResult]] = {}
    for trial in results.trials:
        groups.setdefault((trial.implementation, trial.case.partition("/")[0]), []).append(trial)
    reason = describe_incomplete(results)
    if reason is not None or list_problems(results) or describe_claims(results):
        _add_run_suite(root, reason, results)
    causes = Counter((cause.implementation, cause.api) for cause in list_causes(results).failed)
    for (index, api), trials in groups.items():
        suite = SubElement(root, "testsuite", {"name": f"{names[index]} {escape_line(api)}"})
        properties = SubElement(suite, "properties")
        info = results.header.implementations[index]
        for name, text in _properties(results, info, causes[index, api], reason):
            SubElement(properties, "property", {"name": name, "value": escape_line(text, WIDTH)})
        # JUnit readers split class names at dots, and versions contain dots.
        prefix = f"{names[index].replace('.', '_')}." if len(names) > 1 else ""
        for trial in trials:
            _add_trial(suite, prefix, trial, results, unexpected=id(trial) in unexpected)
        if reason is not None:
            SubElement(suite, "system-err").text = reason
        _set_counts(suite)
    root.set("name", escape_line(f"streamconform {results.header.version}"))
    _set_counts(root)
    indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, "unicode")}'


def _add_run_suite(root: Element, reason: str | None, results: Results) -> None:
    """Add a suite with a failed test for incomplete results and for each problem that is no trial's."""
    suite = SubElement(root, "testsuite", {"name": "streamconform"})
    attributes = {"classname": "streamconform", "time": "0"}
    if reason is not None:
        case = SubElement(suite, "testcase", attributes | {"name": "the results are complete"})
        SubElement(case, "error", {"type": "cut", "message": reason})
    claims = results.footer.claims if results.footer is not None else ()
    for claim, message in zip(claims, describe_claims(results), strict=True):
        name = escape_line(f"`{claim.capability}` is compared", WIDTH)
        case = SubElement(suite, "testcase", attributes | {"name": name})
        SubElement(case, "failure", {"type": "claim", "message": message})
    for problem in list_problems(results):
        name = escape_line(f"{problem.path}:{problem.line}", WIDTH)
        case = SubElement(suite, "testcase", attributes | {"name": name})
        message = escape_line(problem.message, WIDTH)
        SubElement(case, "failure", {"type": "known-failures", "message": message})
    _set_counts(suite)


def _properties(
    results: Results, info: ImplementationInfo, causes: int, reason: str | None
) -> Iterator[tuple[str, str]]:
    yield "implementation", info.name
    yield "version", info.version or ""
    yield "language", info.language or ""
    yield "impl", info.impl
    yield "input", info.input
    yield "suite", results.header.version
    yield "seed", str(results.header.seed)
    yield "causes", str(causes)
    if reason is not None:
        yield "cut", reason


def _add_trial(
    suite: Element, prefix: str, trial: TrialResult, results: Results, *, unexpected: bool
) -> None:
    group, _, name = trial.id.rpartition("/")
    classname = prefix + escape_line(group.replace("/", "."), WIDTH)
    case = SubElement(
        suite, "testcase", {"classname": classname, "name": escape_line(name, WIDTH), "time": "0"}
    )
    match trial.verdict:
        case "skipped":
            SubElement(case, "skipped", {"message": escape_line(trial.reason or "skipped", WIDTH)})
        case "known":
            message = escape_line(f"known failure: {trial.known or ''}", WIDTH)
            SubElement(case, "skipped", {"message": message})
        case _ if unexpected:
            tag = "error" if trial.verdict in ERROR_VERDICTS else "failure"
            cause = group_by_cause([trial])[0]
            lines = [*describe_failure(trial, cause.failures[0].check), *describe_error(trial)]
            message = "; ".join(line.strip() for line in lines)
            attributes = {"type": escape_line(cause.id, WIDTH), "message": f"{cause.title}: {message}"}
            SubElement(case, tag, attributes).text = _format_body(trial, results)
        case "warn":
            SubElement(case, "system-out").text = _format_body(trial, results)
        case _:
            pass


def _format_body(trial: TrialResult, results: Results) -> str:
    text = "\n".join(_body_lines(trial, results))
    return text if len(text) <= MAX_BODY else f"{text[:MAX_BODY]}\n… shortened from {len(text):,} characters"


def _body_lines(trial: TrialResult, results: Results) -> Iterator[str]:
    """Yield the verdict, title, cause, exception, checks, traceback, guarded bugs and commands."""
    yield f"{VERDICT_LABELS[trial.verdict]}: {escape_line(trial.title or trial.case, WIDTH)}"
    cause = group_by_cause([trial])[0]
    yield f"{cause.title} ({describe_harm(cause)})"
    if trial.reason:
        yield escape_line(trial.reason, WIDTH)
    root = cause.failures[0].check
    if root is None:
        yield from describe_error(trial)
    # The cause comes first, with the exception right below it; the other checks follow from it.
    checks = sorted(trial.checks, key=lambda check: check is not root)
    for check in checks[:MAX_CHECKS]:
        yield from describe_check(check)
        if check is root:
            yield from (f"  {line}" for line in describe_error(trial))
        if check.frames:
            yield f"  relevant {format_frames(check.frames)}"
    if len(trial.checks) > MAX_CHECKS:
        yield f"… and {len(trial.checks) - MAX_CHECKS} more checks"
    yield from (f"| {line}" for line in read_traceback(trial.observation))
    if trial.guards:
        yield escape_line(f"guards against {', '.join(trial.guards)}", WIDTH)
    info = results.header.implementations[trial.implementation]
    command = format_run_command(info, trial, results.header)
    yield f"reproduce: {escape_line(command, 4 * WIDTH)}"


def _set_counts(element: Element) -> None:
    """Set the attributes that count tests, failures, errors and skipped tests."""
    counts = {tag: sum(1 for _ in element.iter(tag)) for tag in ("testcase", "failure", "error", "skipped")}
    element.set("tests", str(counts["testcase"]))
    element.set("failures", str(counts["failure"]))
    element.set("errors", str(counts["error"]))
    # Not every CI server's schema allows this attribute on `testsuites`.
    if element.tag == "testsuite":
        element.set("skipped", str(counts["skipped"]))
    element.set("time", "0")
