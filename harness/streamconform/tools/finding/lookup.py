"""Find the finding for a peer's failure in a case, and all the information for its issue."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from streamconform.adapters.connect import connect
from streamconform.errors import ImplementationError, SelectionError
from streamconform.known_failures.of_peers import read_by_finding
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial
from streamconform.peers import environments, node_runtime
from streamconform.peers.findings import Finding, read_findings
from streamconform.peers.history import read_histories
from streamconform.peers.peer import Peer
from streamconform.peers.releases import list_packages
from streamconform.suite.catalog import Catalog
from streamconform.suite.evidence import find_facts
from streamconform.suite.select import find_id
from streamconform.tools.finding.program import write_program
from streamconform.tools.finding.render import Issue
from streamconform.tools.trials import choose_trial, run_trials


def find_issue(peer: Peer, name: str, catalog: Catalog, specs: Path, *, run: bool) -> Issue:
    """Return the issue about the case or trial `name`; `run` adds the result of the trial.

    The peer need not be installed; if it is not, the issue has no result.

    Raises:
        SelectionError: no known failure of `peer` names a finding for it.
    """
    finding, trial = find_finding(peer, name, catalog)
    return make_issue(peer, finding, trial, specs, run=run)


def make_issue(peer: Peer, finding: Finding, trial: AnyTrial, specs: Path, *, run: bool = False) -> Issue:
    """Return the issue about a finding that `trial` shows; `run` adds the result of the trial.

    Raises:
        UsageError: there is no snippet of `peer` for the API of the trial.
    """
    packages = list_packages(peer)
    package = finding.find_package(peer, packages) or peer.distribution
    histories = read_histories()
    history = histories.get(peer.name)
    entries = [entry for entry in history.findings if entry.finding == finding.slug] if history else []
    on_node = peer.language == "javascript"
    python = ".".join(map(str, sys.version_info[:3]))
    return Issue(
        finding=finding,
        peer=peer,
        package=package,
        trial=trial,
        program=write_program(peer, trial),
        versions=packages,
        runtime=f"Node.js {node_runtime.VERSION}" if on_node else f"Python {python}",
        facts=find_facts(specs, (trial.case,)).get(trial.case.id, ()),
        history=entries[0] if entries else None,
        newest=history.newest.get(entries[0].package, "") if history and entries else "",
        result=_run_trial(peer, trial) if run else None,
    )


def find_finding(peer: Peer, name: str, catalog: Catalog) -> tuple[Finding, AnyTrial]:
    """Return the finding of a case or trial, and the trial that shows it.

    Raises:
        SelectionError: no known failure of `peer` names a finding for it.
    """
    case_id = find_id(name.partition("@")[0], catalog.ids)
    delivery = name.partition("@")[2]
    for slug, entries in read_by_finding(peer.name).items():
        patterns = [entry.match for entry in entries]
        trial = choose_trial(catalog, (case_id,), patterns, delivery)
        if trial is not None:
            return read_findings()[slug], trial
    wanted = f"{case_id}@{delivery}" if delivery else case_id
    raise SelectionError(
        f"no finding about `peer:{peer.name}` mentions `{wanted}`; known failures are in docs/matrix/known"
    )


def _run_trial(peer: Peer, trial: AnyTrial) -> TrialResult | None:
    if environments.read_environment(environments.get_environments_folder(), peer) is None:
        return None
    try:
        results = asyncio.run(run_trials(connect(f"peer:{peer.name}"), (trial,)))
    except ImplementationError:
        return None
    return results[trial.id]
