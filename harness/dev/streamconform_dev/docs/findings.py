"""Generate docs/matrix/findings.md from the findings in the libraries' folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from streamconform.causes.table import HARMS
from streamconform_dev.bugs import find_harms
from streamconform_dev.docs.matrix import FOLDER, read_clients
from streamconform_peers.answers import STATUSES, find_status
from streamconform_peers.findings import PAGE, SENDERS, Finding, Library, read_findings
from streamconform_peers.history import describe, find_history
from streamconform_peers.known import read_by_finding
from streamconform_peers.table import PEERS

UNRANKED = "only warnings"
HEADINGS = {
    UNRANKED: (
        "## Only warnings\n\n"
        "The providers' documentation does not settle these, or the results above do not have them."
    )
}


def generate() -> dict[Path, bytes]:
    """Return the page."""
    return {FOLDER / PAGE: ("\n\n".join(_blocks(read_findings())) + "\n").encode()}


def list_peers() -> dict[str, list[str]]:
    """Return the peers whose known failures name a finding, by slug."""
    peers: dict[str, set[str]] = {}
    for name in PEERS:
        for slug in read_by_finding(name):
            peers.setdefault(slug, set()).add(name)
    return {slug: sorted(names) for slug, names in peers.items()}


def _blocks(findings: Mapping[str, Finding]) -> Iterator[str]:
    harms = find_harms(bug for client in read_clients() for bug in client.bugs)
    peers = list_peers()
    yield "# Findings"
    yield (
        "These are the failures in the [matrix](README.md), by cause, worst harm first. For each one, we"
        " read the stream, the provider's documentation and the library's source, and ran the library on its"
        " own, in the way its documentation describes. Each stream is minimal;"
        " `…` marks omitted fields. Bugs in our own adapters are fixed and not listed;"
        " [values that libraries do not expose](not-exposed.md) are not failures."
    )
    groups: dict[str, list[Finding]] = {harm: [] for harm in (*HARMS, UNRANKED)}
    for slug, finding in findings.items():
        groups[harms.get(slug, UNRANKED)].append(finding)
    for harm, members in groups.items():
        if members:
            yield HEADINGS.get(harm, f"## Harm: {harm}")
            for finding in sorted(members, key=lambda each: each.slug):
                yield from _section(finding, peers.get(finding.slug, []))


def _section(finding: Finding, peers: list[str]) -> Iterator[str]:
    yield f'<a id="{finding.slug}"></a>'
    yield f"### {finding.title}"
    for library in finding.libraries:
        if library.status == "disputed":
            yield f"**{library.name}**: [{STATUSES['disputed']}]({library.reply})."
    yield "\n".join(f"- {_describe_library(finding, library)}" for library in finding.libraries)
    if finding.stream:
        yield f"```\n{finding.stream.rstrip()}\n```"
    yield f"**Documented**: {finding.documented}"
    space = "\n\n" if finding.does.startswith("- ") else " "
    yield f"**Does**:{space}{finding.does.rstrip()}"
    yield from (
        f"**{library.name}**: {library.does.rstrip()}" for library in finding.libraries if library.does
    )
    yield f"**Where it comes from**: {SENDERS[finding.sender]}.{f' {finding.note}' if finding.note else ''}"
    cases = ", ".join(f"`{case}`" for case in finding.cases)
    yield f"**Cases**: {cases}; known failures of {', '.join(f'`{name}`' for name in peers)}."
    if finding.threads:
        links = ", ".join(f"[{_name_thread(link)}]({link})" for link in finding.threads)
        yield f"**Threads**: {links}."


def _describe_library(finding: Finding, library: Library) -> str:
    history, status = find_history(finding.slug, library), find_status(finding, library)
    parts = [
        *([describe(*history)] if history else []),
        *([STATUSES[status]] if status not in ("open", "fixed") else []),
    ]
    return "; ".join([f"`{library.name}` {library.release}", *parts])


def _name_thread(link: str) -> str:
    """Return `owner/repo#1` for an issue or a pull request on GitHub, otherwise the address."""
    parts = link.removeprefix("https://github.com/").split("/")
    named = len(parts) == 4 and parts[2] in ("issues", "pull") and parts[3].isdigit()
    return f"{parts[0]}/{parts[1]}#{parts[3]}" if named else link.removeprefix("https://")
