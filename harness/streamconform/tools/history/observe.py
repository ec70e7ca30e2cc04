"""Run one trial per finding with a release, and compare its failure with that of the pinned release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streamconform.adapters.connect import Connection
from streamconform.model.case import Case
from streamconform.model.result import TrialResult
from streamconform.model.trial import AS_IS, DELIVERIES, AnyTrial
from streamconform.peers.findings import Finding
from streamconform.run.blame import Blame
from streamconform.run.plan import Settings
from streamconform.run.single import SingleRunner
from streamconform.suite.catalog import Catalog
from streamconform.suite.expand import expand, make_trial
from streamconform.suite.select import matches
from streamconform.tools.history.search import State

SETTINGS: Final = Settings(workers=1, timeout=60.0)
CONTROLS: Final = ("text", "tool")
"""Parts of the names of topics: the first case of each that the pinned release passes is a control."""
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
        """Return the API of the trial."""
        return self.trial.id.partition("/")[0]


def choose_trial(catalog: Catalog, finding: Finding, patterns: Sequence[str]) -> AnyTrial | None:
    """Return a trial that one of `patterns` matches, None if there is none.

    Cases that the finding names come first, and of a case's trials the one without a change of the stream.
    """
    subjects = [pattern.partition(":")[0] for pattern in patterns]
    named = [case for case in finding.cases if case in catalog.ids]
    others = [
        id_ for id_ in catalog.ids if id_ not in named and any(_may_match(each, id_) for each in subjects)
    ]
    for id_ in (*named, *others):
        relevant = [subject for subject in subjects if _may_match(subject, id_)]
        if not relevant:
            continue
        (case,) = catalog.load((id_,))
        trials = [
            trial
            for trial in expand((case,), DELIVERIES, "http", 0, "all")
            if any(matches(subject, trial.id) for subject in relevant)
        ]
        if trials:
            return min(trials, key=lambda trial: trial.delivery not in (AS_IS, None))
    return None


def list_controls(catalog: Catalog, api: str) -> tuple[tuple[AnyTrial, ...], ...]:
    """Return, for each control of an API, the trials from which the first is taken that passes."""
    topics = [id_ for id_ in catalog.ids if id_.startswith(f"{api}/") and "request" not in id_]
    groups = [[id_ for id_ in topics if word in id_.split("/")[1]][:MAX_CONTROLS_TRIED] for word in CONTROLS]
    return tuple(tuple(_make_trials(catalog, group)) for group in groups if group)


def read_symptom(result: TrialResult) -> Symptom | None:
    """Return how a trial fails, None if it does not."""
    if result.verdict not in {"fail", "hang"}:
        return None
    raised = (result.observation or {}).get("raised")
    return Symptom(
        tuple(sorted(check.path for check in result.checks if check.verdict == "fail")),
        raised["type"] if raised else None,
    )


def compare(result: TrialResult, symptom: Symptom) -> State:
    """Return whether a trial fails as it does with the pinned release."""
    if result.verdict in {"pass", "warn"}:
        return "absent"
    own = read_symptom(result)
    same = own is not None and set(symptom.checks) <= set(own.checks) and symptom.raised == own.raised
    return "present" if same else "unclear"


async def run_trials(connection: Connection, trials: Sequence[AnyTrial]) -> Mapping[str, TrialResult]:
    """Return the result of each trial by its id.

    Raises:
        ImplementationError: the program does not start.
    """
    runner = SingleRunner(connection, SETTINGS, Blame(None))
    try:
        await runner.begin(trials)
        return {trial.id: await runner.judge(trial) for trial in trials}
    finally:
        await runner.end()


def _make_trials(catalog: Catalog, ids: Sequence[str]) -> list[AnyTrial]:
    return [make_trial(case, AS_IS, 0) for case in catalog.load(ids) if isinstance(case, Case)]


def _may_match(pattern: str, case_id: str) -> bool:
    return matches(pattern.partition("@")[0], case_id)
