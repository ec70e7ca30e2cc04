"""Look up the finding behind a peer's failure in a case, and everything needed for its issue."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from streamconform.adapters.connect import connect
from streamconform.errors import ImplementationError, SelectionError
from streamconform.known_failures.model import Entry, KnownCause, KnownFailure
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial
from streamconform.model.verdict import Check
from streamconform.suggestions import suggest
from streamconform.suite.catalog import Catalog
from streamconform.suite.evidence import find_facts
from streamconform.suite.select import find_id, split_pattern
from streamconform_dev.finding.program import write_program
from streamconform_dev.finding.render import Issue
from streamconform_dev.trials import choose_trial, run_trials
from streamconform_peers import environments, node_runtime
from streamconform_peers.findings import Finding, read_findings
from streamconform_peers.history import read_history_of
from streamconform_peers.known import list_patterns, read_by_finding
from streamconform_peers.peer import Peer
from streamconform_peers.releases import list_packages


def find_issue(
    peer: Peer, catalog: Catalog, specs: Path, *, case: str | None = None, slug: str | None = None, run: bool
) -> Issue:
    """Return the issue about the finding `slug`, or about the only finding in the case or trial `case`.

    `run` adds the result of the trial. The peer need not be installed; if it is not, the issue has no result.

    Raises:
        SelectionError: `peer`'s known failures name no such finding, or name several for `case`.
    """
    trials = find_findings(peer, catalog, case, slug)
    if len(trials) > 1:
        lines = "\n".join(f"  {name}  {trial.id}" for name, trial in trials.items())
        raise SelectionError(
            f"`{case}` shows {len(trials)} findings about `peer:{peer.name}`; "
            f"choose one with `--finding`:\n{lines}"
        )
    ((slug, trial),) = trials.items()
    return make_issue(peer, read_findings()[slug], trial, specs, run=run)


def make_issue(peer: Peer, finding: Finding, trial: AnyTrial, specs: Path, *, run: bool = False) -> Issue:
    """Return the issue about a finding that `trial` shows; `run` adds the result of the trial.

    Raises:
        UsageError: `peer` has no snippet for the trial's API.
    """
    packages = list_packages(peer)
    package = finding.find_package(peer, packages) or peer.distribution
    history = read_history_of(peer)
    entries = [entry for entry in history.findings if entry.finding == finding.slug] if history else []
    on_node = peer.language == "javascript"
    python = ".".join(map(str, sys.version_info[:3]))
    return Issue(
        finding=finding,
        peer=peer,
        package=package,
        owner=finding.find_owner(peer, packages),
        trial=trial,
        program=write_program(peer, trial, timed=finding.timed),
        versions=packages,
        runtime=f"Node.js {node_runtime.VERSION}" if on_node else f"Python {python}",
        facts=find_facts(specs, (trial.case,)).get(trial.case.id, ()),
        history=entries[0] if entries else None,
        newest=history.newest.get(entries[0].package, "") if history and entries else "",
        result=_run_trial(peer, finding, trial) if run else None,
    )


def find_findings(
    peer: Peer, catalog: Catalog, case: str | None = None, slug: str | None = None
) -> dict[str, AnyTrial]:
    """Return the slugs of the findings about a case or trial, each with the trial that shows it best.

    Without a case, the finding's own cases are preferred. There is at least one.

    Raises:
        SelectionError: no known failure of `peer` names a finding for the case or trial.
    """
    by_finding = read_by_finding(peer.name)
    if slug is not None and slug not in by_finding:
        hint = suggest(slug, by_finding) or f"; they are in {peer.known_failures}"
        raise SelectionError(f"`{slug}` is not a finding about `peer:{peer.name}`{hint}")
    name, _, delivery = (case or "").partition("@")
    case_id = find_id(name, catalog.ids) if case else None
    trials: dict[str, AnyTrial] = {}
    for each in by_finding if slug is None else (slug,):
        own = read_findings()[each].cases
        cases = (case_id,) if case_id else (*own, *catalog.ids)
        patterns = list_patterns(by_finding[each], own)
        if case_id:
            # An entry for a cause names one trial, so somebody who names a case may mean another one.
            patterns = (*patterns, *own)
        trial = choose_trial(catalog, cases, patterns, delivery)
        if trial is not None:
            trials[each] = trial
    if not trials:
        finding = f"the finding `{slug}`" if slug else "no finding"
        verb = "does not mention" if slug else "mentions"
        wanted = f"{case_id}@{delivery}" if delivery else case_id
        raise SelectionError(
            f"{finding} about `peer:{peer.name}` {verb} `{wanted}`; known failures are in"
            f" {peer.known_failures}, where a cause names only one of its trials: choose its finding"
            " with `--finding`"
        )
    return trials


def select_checks(
    checks: Sequence[Check], trial: AnyTrial, slug: str, by_finding: Mapping[str, Sequence[Entry]]
) -> tuple[Check, ...]:
    """Return the failed checks of a trial that belong to the finding `slug`.

    A known failure that names a check claims it. One that names no check claims all checks that no other
    finding names, and so does one for a cause: the trial is one that shows it.
    """
    claims = [
        (name, pattern)
        for name, entries in by_finding.items()
        for pattern in (split_pattern(entry.match) for entry in entries if isinstance(entry, KnownFailure))
        if pattern.case.match(trial.case.id) and pattern.matches_delivery(trial.delivery)
    ]
    has_cause = any(isinstance(entry, KnownCause) for entry in by_finding.get(slug, ()))
    is_general = any(name == slug and pattern.check is None for name, pattern in claims) or has_cause
    selected = []
    for check in checks:
        names = {name for name, pattern in claims if pattern.check and pattern.check.match(check.path)}
        if slug in names or (is_general and not names):
            selected.append(check)
    return tuple(selected)


def _run_trial(peer: Peer, finding: Finding, trial: AnyTrial) -> TrialResult | None:
    """Return the trial's result, reduced to the checks that belong to the finding."""
    if environments.read_environment(environments.get_environments_folder(), peer) is None:
        return None
    try:
        results = asyncio.run(run_trials(connect(f"peer:{peer.name}"), (trial,)))
    except ImplementationError:
        return None
    result = results[trial.id]
    checks = select_checks(result.checks, trial, finding.slug, read_by_finding(peer.name))
    return replace(result, checks=checks)
