"""Write a finding as an issue for the library's tracker. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streamconform.model.request import RequestExpectation
from streamconform.model.result import TrialResult
from streamconform.model.trial import AS_IS, DELIVERIES, AnyTrial, Call, RoundTrip, Trial
from streamconform.model.verdict import Check
from streamconform.printable import escape_line
from streamconform.reports.causes import group_by_cause
from streamconform.reports.describe import describe_check
from streamconform.suite.evidence import Fact
from streamconform.suite.request_expectation import serialize_value
from streamconform_peers.answers import find_tracker, get_owner, list_own_threads
from streamconform_peers.findings import SENDERS, Finding, Library
from streamconform_peers.history import FindingHistory, describe
from streamconform_peers.peer import Peer

MAX_CHECKS: Final = 8
FAULT_NOTES: Final[Mapping[str, str]] = {
    "cut-after-frame": "the stream ends after frame {}",
    "cut-inside-json": "the stream ends inside the payload of frame {}",
    "cut-inside-utf8": "the stream ends inside a character in frame {}",
    "error-frame": "an error follows frame {} and ends the stream",
}
"""Descriptions of the faults that a program can reproduce; frames are counted from 0."""
ISSUE: Final = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)#(?P<number>[0-9]+)")
FENCES: Final = re.compile(r"^`{3,}", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """What an issue says about a finding in one library."""

    finding: Finding
    peer: Peer
    package: str
    """The package that has the bug, or that uses the owner."""
    owner: Library
    """The library that has the bug."""
    trial: AnyTrial
    program: str
    versions: Mapping[str, str]
    """The releases that the program runs with: the library and its companions, pinned."""
    runtime: str
    facts: Sequence[Fact] = ()
    history: FindingHistory | None = None
    newest: str = ""
    """The newest release of the package at the time its history was traced."""
    result: TrialResult | None = None
    """The result of the trial; None if the peer is not installed."""


def render(issue: Issue) -> str:
    """Return the issue as Markdown; the first line is its title."""
    return "\n\n".join(block.rstrip() for block in _list_blocks(issue)) + "\n"


def _list_blocks(issue: Issue) -> Iterator[str]:
    finding, trial = issue.finding, issue.trial
    yield f"# {finding.title}"
    version = issue.versions[issue.package]
    api = trial.id.partition("/")[0]
    since = f": {describe(issue.history, issue.newest)}" if issue.history else ""
    owner, used = issue.owner, f"`{issue.package}` {version}"
    if finding.find_package(issue.peer, issue.versions) is None:
        used = f"`{owner.name}`, which {used} uses"
    yield f"{used} ({api}){since}. For {find_tracker(owner)}."
    yield f"## Actual\n\n{finding.does}" + (f"\n\n{owner.does}" if owner.does else "")
    if issue.result is not None and issue.result.checks:
        subject = "stream" if _is_stream(issue) else "conversation"
        yield f"With the {subject} below:\n\n" + "\n".join(_list_differences(issue.result))
    title = f"{escape_line(trial.case.title, 400)}.{_describe_delivery(trial)}"
    yield f"## Expected\n\n{finding.documented}"
    yield from _describe_expected_request(issue)
    yield f"## Reproduce\n\n{title}"
    yield _fence("sh", format_install(issue))
    yield _fence("js" if issue.peer.language == "javascript" else "python", issue.program)
    yield "## What the provider documents\n\n" + "\n".join(_list_facts(issue))
    yield "## Versions\n\n" + "\n".join(_list_versions(issue))

    yield f"## Impact\n\n{_describe_impact(issue)}"
    threads = _list_threads(issue)
    if threads:
        yield "## Known threads\n\n" + "\n".join(f"- {thread}" for thread in threads)
    yield f"Found by streamconform: `conform run -i peer:{issue.peer.name} -k '{trial.id}'`."


def _describe_delivery(trial: AnyTrial) -> str:
    """Return a sentence about the trial's changes to the case's stream; empty if it changes nothing."""
    name, _, frame = (trial.delivery or AS_IS).partition(".")
    if name in FAULT_NOTES:
        return f" Here, {FAULT_NOTES[name].format(frame)}."
    return f" Here, it is delivered with {DELIVERIES[name].does}." if name != AS_IS else ""


def _describe_expected_request(issue: Issue) -> Iterator[str]:
    """Yield the expected part of the request, limited to the fields that differ if those are known."""
    expect = _find_request_expectation(issue.trial)
    if expect is None:
        return
    parts = {check.path.removeprefix("request.") for check in _list_failing(issue.result)}
    names = {path.split(".")[1] for path in parts if path.startswith("body.")}
    may = expect.may.fields if not expect.must.fields.keys() & names else {}
    fields = {
        name: serialize_value(wanted)
        for name, wanted in {**may, **expect.must.fields}.items()
        if not names or name in names
    }
    if fields:
        text = json.dumps(fields, indent=1, ensure_ascii=False)
        yield "The request must contain at least the following, or an equivalent form of it:"
        yield _fence("json", text)
    if expect.must_not:
        yield f"It does not contain {', '.join(f'`{path}`' for path in expect.must_not)}."


def _find_request_expectation(trial: AnyTrial) -> RequestExpectation | None:
    if isinstance(trial, RoundTrip):
        return trial.case.requests[-1]
    if isinstance(trial, Call) and isinstance(trial.case.expect, RequestExpectation):
        return trial.case.expect
    return None


def _list_failing(result: TrialResult | None) -> list[Check]:
    """Return the checks that failed or, if none did, those that warn."""
    checks = result.checks if result else ()
    failed = [check for check in checks if check.verdict == "fail"]
    return failed or [check for check in checks if check.verdict == "warn"]


def _list_differences(result: TrialResult) -> Iterator[str]:
    failing = _list_failing(result)
    for check in failing[:MAX_CHECKS]:
        first, *rest = describe_check(check)
        yield f"- {_format_code(first)}"
        yield from (f"  {_format_code(line.strip())}" for line in rest)
    if len(failing) > MAX_CHECKS:
        yield f"- and {len(failing) - MAX_CHECKS} more differences"


def _list_versions(issue: Issue) -> Iterator[str]:
    yield from (f"- {name} {release}" for name, release in issue.versions.items())
    yield f"- {issue.runtime}"


def _list_facts(issue: Issue) -> Iterator[str]:
    if not issue.facts:
        yield issue.finding.documented
    for fact in issue.facts:
        origin = f"<{fact.source}>" if fact.source else f"observed: {escape_line(fact.observed or '', 300)}"
        yield f"- {escape_line(fact.says, 600)} ({origin}, read {fact.read})"


def _describe_impact(issue: Issue) -> str:
    finding, lines = issue.finding, []
    if issue.result is not None:
        (cause, *_) = group_by_cause((issue.result,))
        lines += [f"The library {cause.harm}."] if cause.harm else []
    lines.append(f"{SENDERS[finding.sender]}.")
    return " ".join([*lines, finding.note or ""]).rstrip()


def _is_stream(issue: Issue) -> bool:
    return isinstance(issue.trial, Trial)


def format_install(issue: Issue) -> str:
    """Return the command that installs the releases that the program runs with."""
    on_node = issue.peer.language == "javascript"
    sign = "@" if on_node else "=="
    extras = f"[{','.join(issue.peer.extras)}]" if issue.peer.extras else ""
    names = [
        f"{name}{extras if name == issue.peer.distribution else ''}{sign}{version}"
        for name, version in issue.versions.items()
    ]
    return " ".join(["npm install" if on_node else "pip install", *(f"'{name}'" for name in names)])


def _list_threads(issue: Issue) -> list[str]:
    """Return the threads in the owner's repositories; others need no notice."""
    own = list_own_threads(issue.finding, issue.owner)
    tracker = find_tracker(issue.owner)
    guards = (thread for thread in map(_link_issue, issue.trial.case.guards))
    wanted = get_owner(tracker) if tracker else None
    return list(
        dict.fromkeys((*own, *(thread for thread in guards if get_owner(thread) == wanted is not None)))
    )


def _link_issue(text: str) -> str:
    match = ISSUE.fullmatch(text)
    return f"https://github.com/{match['repository']}/issues/{match['number']}" if match else text


def _format_code(text: str) -> str:
    # In CommonMark, a run of backticks in the code must be shorter than the delimiter, and a space keeps it
    # apart from a run at the edge.
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return f"`{text}`" if not longest else f"{'`' * (longest + 1)} {text} {'`' * (longest + 1)}"


def _fence(language: str, text: str) -> str:
    longest = max((len(run) for run in FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
