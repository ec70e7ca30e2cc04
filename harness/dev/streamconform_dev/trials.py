"""Choose the trial for a finding, and run single trials (`conform dev finding`, `conform dev history`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from streamconform.adapters.connect import Connection
from streamconform.model.result import TrialResult
from streamconform.model.trial import AS_IS, DELIVERIES, AnyTrial, Trial
from streamconform.run.blame import Blame, load_snapshots
from streamconform.run.plan import Settings
from streamconform.run.single import SingleRunner
from streamconform.suite.catalog import Catalog
from streamconform.suite.expand import expand
from streamconform.suite.select import matches

SETTINGS: Final = Settings(workers=1, timeout=60.0)


def choose_trial(
    catalog: Catalog, cases: Iterable[str], patterns: Sequence[str], delivery: str = ""
) -> AnyTrial | None:
    """Return a trial that matches any of `patterns`, from the first case in `cases` that has one, or None.

    The unchanged delivery is preferred; `delivery` requests a trial by name.
    """
    subjects = [pattern.partition(":")[0] for pattern in patterns]
    for id_ in cases:
        # Checked before loading, because loading a case parses its spec.
        relevant = [subject for subject in subjects if may_match(subject, id_)]
        if not relevant:
            continue
        (case,) = catalog.load((id_,))
        trials = [
            trial
            # For HTTP, which has the most trials: a pattern may name one that exists only there.
            for trial in expand((case,), DELIVERIES, "http", 0, "all")
            if any(matches(subject, trial.id) for subject in relevant)
            and (not delivery or trial.delivery == delivery)
        ]
        if trials:
            return min(trials, key=_rank)
    return None


def may_match(pattern: str, case_id: str) -> bool:
    """Return whether `pattern` can match a trial of the case `case_id`."""
    return matches(pattern.partition("@")[0], case_id)


async def run_trials(connection: Connection, trials: Sequence[AnyTrial]) -> Mapping[str, TrialResult]:
    """Return each trial's result, keyed by trial id.

    Raises:
        ImplementationError: the program cannot be started.
    """
    runner = SingleRunner(connection, SETTINGS, Blame(load_snapshots()))
    try:
        await runner.begin(trials)
        return {trial.id: await runner.judge(trial) for trial in trials}
    finally:
        await runner.end()


def _rank(trial: AnyTrial) -> tuple[bool, bool]:
    is_document = isinstance(trial, Trial) and not trial.case.stream
    return (is_document, trial.delivery not in (AS_IS, None))
