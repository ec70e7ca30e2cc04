"""The programs that reproduce a finding, one per client, for the finding's page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamconform.errors import SelectionError, UsageError
from streamconform.suite.catalog import Catalog
from streamconform_dev.finding.lookup import make_issue
from streamconform_dev.finding.render import format_install, render
from streamconform_dev.trials import choose_trial
from streamconform_peers.findings import Finding
from streamconform_peers.known import list_patterns, read_by_finding
from streamconform_peers.table import PEERS


@dataclass(frozen=True, slots=True)
class Reproduction:
    """How a finding is reproduced with one client."""

    peer: str
    trial: str
    install: str
    program: str
    path: str
    """The path of the issue's page in the site."""
    issue: str
    """The issue as Markdown."""


def list_reproductions(finding: Finding, peers: tuple[str, ...], catalog: Catalog) -> Iterator[Reproduction]:
    """Yield the reproduction of a finding with each of `peers`; none for a client without a snippet."""
    for name in peers:
        patterns = list_patterns(read_by_finding(name).get(finding.slug, ()), finding.cases)
        trial = choose_trial(catalog, (*finding.cases, *catalog.ids), patterns)
        if trial is None:
            continue
        try:
            issue = make_issue(PEERS[name], finding, trial, catalog.sources.specs)
        except (SelectionError, UsageError):
            continue  # `conform dev finding` says which snippet is missing, or what a short program cannot do
        path = f"findings/{finding.slug}.{name}.md"
        yield Reproduction(name, trial.id, format_install(issue), issue.program, path, render(issue))
