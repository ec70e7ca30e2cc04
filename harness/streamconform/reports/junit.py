"""JUnit XML, as Jenkins, Surefire and GitLab read it: a suite an implementation and api, a test a trial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from streamconform.errors import Problem
from streamconform.model.result import ImplementationInfo, TrialResult
from streamconform.reports.causes import causes, reproduce
from streamconform.reports.terminal import frames
from streamconform.reports.words import briefly, called, cut, printable, told, unexpected
from streamconform.run.results import Results

ERRORS: Final = frozenset({"faulted", "hang"})
MAX_BODY: Final = 16_000
"""Characters of what is said of one trial; a run may have thousands that fail."""
CHECKS_SHOWN: Final = 20
"""Checks in the body of one failure; the rest is counted."""
TRACEBACK_LINES: Final = 20
WIDTH: Final = 400
"""Characters of a line, about; the command at the end is not cut where a user could have typed it."""


def render(results: Results) -> str:
    """Return the document. Times are 0: results of the same run give the same bytes.

    fail and stale are `failure`, faulted and hang `error`, known and skipped `skipped`; what a warning
    says is in `system-out`. A run that is cut has the suite `streamconform` with one `error`, besides
    what the suites say of it: a reader that shows only tests must not show it green. So have entries of the
    known-failures file that are not true any more.
    """
    root = Element("testsuites")
    names = called(results.header)
    failed = {id(each) for each in unexpected(results)}
    groups: dict[tuple[int, str], list[TrialResult]] = {}
    for trial in results.trials:
        groups.setdefault((trial.implementation, trial.case.partition("/")[0]), []).append(trial)
    why, problems = cut(results), results.footer.problems if results.footer else ()
    if why is not None or problems:
        _run(root, why, problems)
    for (at, api), trials in groups.items():
        suite = SubElement(root, "testsuite", {"name": f"{names[at]} {printable(api)}"})
        properties = SubElement(suite, "properties")
        for name, text in _properties(results, results.header.implementations[at], why):
            SubElement(properties, "property", {"name": name, "value": printable(text, WIDTH)})
        prefix = f"{names[at].replace('.', '_')}." if len(names) > 1 else ""
        for trial in trials:
            _case(suite, prefix, trial, results, failed=id(trial) in failed)
        if why is not None:
            SubElement(suite, "system-err").text = why
        _count(suite, suite)
    root.set("name", printable(f"streamconform {results.header.version}"))
    _count(root, root)
    indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, "unicode")}'


def _run(root: Element, why: str | None, problems: tuple[Problem, ...]) -> None:
    suite = SubElement(root, "testsuite", {"name": "streamconform"})
    given = {"classname": "streamconform", "time": "0"}
    if why is not None:
        case = SubElement(suite, "testcase", given | {"name": "the run is whole"})
        SubElement(case, "error", {"type": "cut", "message": why})
    for problem in problems:
        name = printable(f"{problem.path}:{problem.line}", WIDTH)
        case = SubElement(suite, "testcase", given | {"name": name})
        SubElement(case, "failure", {"type": "known-failures", "message": printable(problem.message, WIDTH)})
    _count(suite, suite)


def _properties(results: Results, info: ImplementationInfo, why: str | None) -> Iterator[tuple[str, str]]:
    yield "implementation", info.name
    yield "version", info.version or ""
    yield "language", info.language or ""
    yield "impl", info.impl
    yield "input", info.input
    yield "suite", results.header.version
    yield "seed", str(results.header.seed)
    if why is not None:
        yield "cut", why


def _case(suite: Element, prefix: str, trial: TrialResult, results: Results, *, failed: bool) -> None:
    group, _, name = trial.id.rpartition("/")
    classname = prefix + printable(group.replace("/", "."), WIDTH)
    case = SubElement(
        suite, "testcase", {"classname": classname, "name": printable(name, WIDTH), "time": "0"}
    )
    match trial.verdict:
        case "skipped":
            SubElement(case, "skipped", {"message": printable(trial.reason or "skipped", WIDTH)})
        case "known":
            SubElement(case, "skipped", {"message": printable(f"known failure: {trial.known or ''}", WIDTH)})
        case _ if failed:
            tag = "error" if trial.verdict in ERRORS else "failure"
            cause = causes([trial])[0]
            message = "; ".join(line.strip() for line in briefly(trial, cause.failures[0].check))
            given = {"type": printable(cause.what, WIDTH), "message": message}
            SubElement(case, tag, given).text = _text(trial, results)
        case "warn":
            SubElement(case, "system-out").text = _text(trial, results)
        case _:
            pass


def _text(trial: TrialResult, results: Results) -> str:
    text = "\n".join(_body(trial, results))
    return text if len(text) <= MAX_BODY else f"{text[:MAX_BODY]}\n… cut, {len(text)} characters in all"


def _body(trial: TrialResult, results: Results) -> Iterator[str]:
    """Yield what there is to say: title, checks, what the adapter said, and how to see it again."""
    yield f"{trial.verdict}: {printable(trial.title or trial.case, WIDTH)}"
    if trial.reason:
        yield printable(trial.reason, WIDTH)
    for check in trial.checks[:CHECKS_SHOWN]:
        yield from told(check)
        if check.frames:
            yield f"  decided by {frames(check.frames)}"
    if len(trial.checks) > CHECKS_SHOWN:
        yield f"… and {len(trial.checks) - CHECKS_SHOWN} more checks"
    traceback = (trial.observation or {}).get("traceback")
    if isinstance(traceback, str):
        yield from (f"| {printable(line, WIDTH)}" for line in traceback.splitlines()[-TRACEBACK_LINES:])
    if trial.guards:
        yield printable(f"guards against {', '.join(trial.guards)}", WIDTH)
    command = reproduce(results.header.implementations[trial.implementation], trial, results.header)
    yield f"reproduce: {printable(command, 4 * WIDTH)}"


def _count(element: Element, within: Element) -> None:
    """Set the numbers of tests, failures, errors and skipped, which the format wants beforehand."""
    counts = {tag: sum(1 for _ in within.iter(tag)) for tag in ("testcase", "failure", "error", "skipped")}
    element.set("tests", str(counts["testcase"]))
    element.set("failures", str(counts["failure"]))
    element.set("errors", str(counts["error"]))
    if element.tag == "testsuite":
        element.set("skipped", str(counts["skipped"]))
    element.set("time", "0")
