"""Generate docs/matrix/findings.md from the findings in the libraries' folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from streamconform.causes.table import HARMS
from streamconform_dev.docs.matrix import FOLDER, Client, read_clients
from streamconform_peers.findings import PAGE, Finding, Library, get_slug, read_findings
from streamconform_peers.known import read_by_finding
from streamconform_peers.table import PEERS

UNRANKED = "not among the committed scores"


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


def find_harms(clients: list[Client]) -> dict[str, str]:
    """Return the worst harm of the failures of each finding."""
    harms: dict[str, str] = {}
    for client in clients:
        for _, cause in client.list_failures():
            for slug in filter(None, map(get_slug, cause.tracked)):
                if cause.harm is not None:
                    harms[slug] = min(cause.harm, harms.get(slug, HARMS[-1]), key=HARMS.index)
    return harms


def _blocks(findings: Mapping[str, Finding]) -> Iterator[str]:
    harms, peers = find_harms(read_clients()), list_peers()
    yield "# Findings"
    yield (
        "These are the failures in the [matrix](README.md), by cause, worst harm first. For each one, we"
        " read the stream, the provider's documentation and the library's source, and ran the library on its"
        " own, in the way its documentation describes. Each stream is the shortest that shows the failure;"
        " `…` stands for fields that do not matter. Bugs in our own adapters are fixed and not listed;"
        " [values that libraries do not expose](not-exposed.md) are not failures."
    )
    groups: dict[str, list[Finding]] = {harm: [] for harm in (*HARMS, UNRANKED)}
    for slug, finding in findings.items():
        groups[harms.get(slug, UNRANKED)].append(finding)
    for harm, members in groups.items():
        if members:
            yield f"## Harm: {harm}"
            for finding in sorted(members, key=lambda each: each.slug):
                yield from _section(finding, peers.get(finding.slug, []))


def _section(finding: Finding, peers: list[str]) -> Iterator[str]:
    yield f'<a id="{finding.slug}"></a>'
    yield f"### {finding.title}"
    yield f"{', '.join(map(_describe_library, finding.libraries))}."
    if finding.stream:
        yield f"```\n{finding.stream.rstrip()}\n```"
    yield f"**Documented**: {finding.documented}"
    space = "\n\n" if finding.does.startswith("- ") else " "
    yield f"**Does**:{space}{finding.does.rstrip()}"
    who = "the provider" if finding.input == "legal" else "lenient servers and gateways only"
    yield f"**Sent by**: {who}.{f' {finding.note}' if finding.note else ''}"
    cases = ", ".join(f"`{case}`" for case in finding.cases)
    yield f"**Cases**: {cases}; known failures of {', '.join(f'`{name}`' for name in peers)}."
    if finding.threads:
        links = ", ".join(f"[{_name_thread(link)}]({link})" for link in finding.threads)
        yield f"**Threads**: {links}."


def _describe_library(library: Library) -> str:
    told = f"`{library.name}` {library.release}"
    since = "in every release" if library.since == "first" else f"since {library.since}"
    parts = [
        *([since] if library.since else []),
        *([f"fixed in {library.fixed}"] if library.fixed else []),
    ]
    return f"{told} ({', '.join(parts)})" if parts else told


def _name_thread(link: str) -> str:
    """Return `owner/repo#1` for an issue or a pull request on GitHub, otherwise the address."""
    parts = link.removeprefix("https://github.com/").split("/")
    named = len(parts) == 4 and parts[2] in ("issues", "pull") and parts[3].isdigit()
    return f"{parts[0]}/{parts[1]}#{parts[3]}" if named else link.removeprefix("https://")
