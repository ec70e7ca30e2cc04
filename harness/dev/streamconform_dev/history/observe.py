"""Run one trial per finding against a release, and compare each failure with the pinned release's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from streamconform.model.case import Case
from streamconform.model.result import TrialResult
from streamconform.model.trial import AS_IS, AnyTrial
from streamconform.suite.catalog import Catalog
from streamconform.suite.expand import make_trial
from streamconform_dev import trials
from streamconform_dev.history.search import State
from streamconform_peers.findings import Finding

CONTROLS: Final = ("text", "tool")
"""Parts of topic names; for each one, the first case that the pinned release passes serves as a control."""
MAX_CONTROLS_TRIED: Final = 6


@dataclass(frozen=True, slots=True)
class Symptom:
    """How a trial fails."""

    checks: tuple[str, ...]
    """The paths of the checks that fail."""
    raised: str | None
    """The class of the library's exception."""


@dataclass(frozen=True, slots=True)
class Target:
    """A finding and the trial that shows it."""

    finding: Finding
    trial: AnyTrial

    @property
    def api(self) -> str:
        """Return the trial's API."""
        return self.trial.id.partition("/")[0]


def choose_trial(catalog: Catalog, finding: Finding, patterns: Sequence[str]) -> AnyTrial | None:
    """Return a trial that matches one of `patterns`, preferably from a case that the finding names."""
    named = [case for case in finding.cases if case in catalog.ids]
    others = [
        id_
        for id_ in catalog.ids
        if id_ not in named and any(trials.may_match(pattern.partition(":")[0], id_) for pattern in patterns)
    ]
    return trials.choose_trial(catalog, (*named, *others), patterns)


def list_controls(catalog: Catalog, api: str) -> tuple[tuple[AnyTrial, ...], ...]:
    """For each of an API's controls, return the candidate trials; the first one that passes is used."""
    topics = [id_ for id_ in catalog.ids if id_.startswith(f"{api}/") and "request" not in id_]
    groups = [[id_ for id_ in topics if word in id_.split("/")[1]][:MAX_CONTROLS_TRIED] for word in CONTROLS]
    return tuple(tuple(_make_trials(catalog, group)) for group in groups if group)


def read_symptom(result: TrialResult) -> Symptom | None:
    """Return how a trial fails, or None if it does not fail."""
    if result.verdict not in {"fail", "hang"}:
        return None
    raised = (result.observation or {}).get("raised")
    return Symptom(
        tuple(sorted(check.path for check in result.checks if check.verdict == "fail")),
        raised["type"] if raised else None,
    )


def compare(result: TrialResult, symptom: Symptom) -> State:
    """Return whether a trial fails in the same way as with the pinned release."""
    if result.verdict in {"pass", "warn"}:
        return "absent"
    own = read_symptom(result)
    # A subset, because a release may have further bugs that fail other checks of the same trial.
    same = own is not None and set(symptom.checks) <= set(own.checks) and symptom.raised == own.raised
    return "present" if same else "unclear"


def _make_trials(catalog: Catalog, ids: Sequence[str]) -> list[AnyTrial]:
    return [make_trial(case, AS_IS, 0) for case in catalog.load(ids) if isinstance(case, Case)]
