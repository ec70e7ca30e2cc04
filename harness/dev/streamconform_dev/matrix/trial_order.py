"""Write specs/order.txt: the trials that `conform run --budget` runs first.

The trials are chosen one by one. Each time, the next is the one that adds most per second to what the chosen
ones find: causes of the peers' failures, weighted by harm, and mutants. RESULTS are results of peers, as
`conform dev matrix` writes them.
"""

from __future__ import annotations

import argparse
import heapq
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from streamconform.causes.table import (
    BILLS,
    CRASHES,
    HIDES,
    LOSES,
    MISLEADS,
    RUNS,
    SUCCEEDS,
    Harm,
)
from streamconform.model.result import TrialResult
from streamconform.model.trial import AS_IS
from streamconform.reports.causes import group_by_cause
from streamconform.run.reading import read
from streamconform.run.resume import unsettle
from streamconform.run.workers import count_default_workers
from streamconform.suite.order import ORDER_FILE
from streamconform.suite.selection import SelectionSettings, select
from streamconform_dev.checkout import ROOT
from streamconform_dev.selftest.execute import run_groups
from streamconform_dev.selftest.groups import SECONDS_PER_TRIAL, group_mutants
from streamconform_mutants import MUTANTS

ORDER: Final = ROOT / "specs" / ORDER_FILE
JUDGED: Final = ROOT / ".conform" / "matrix"
WEIGHTS: Final[Mapping[Harm | None, float]] = {
    RUNS: 8,
    SUCCEEDS: 6,
    CRASHES: 6,
    LOSES: 5,
    BILLS: 3,
    MISLEADS: 1,
    HIDES: 0.5,
    None: 1,
}
WARNING_WEIGHT: Final = 0.3
"""The factor for a cause of which no trial failed."""
MUTANT_WEIGHT: Final = 3
MOST_FINDERS: Final = 3
"""How many cases are chosen to find the same target: a library with this bug may pass the first of them."""
NEXT_FINDER: Final = 0.5
"""The factor for what a target is worth after one more case has found it."""
MIN_COST: Final = 0.3
"""The least cost of a trial, in trials of average duration: starting one takes time however short it is."""
FAILED: Final = ("fail", "warn", "faulted", "hang")
HEAD: Final = """\
# The trials that `conform run --budget` runs first, best first: those that found most causes in the peers,
# weighted by harm, and most mutants, per second. Written by `python -m streamconform_dev.matrix.trial_order`.
# All other trials are ranked by rule (harness/streamconform/suite/order.py), so a new case needs no line
# here; if a case is renamed or removed, change or delete its lines.
"""


@dataclass(slots=True)
class Target:
    """A cause in one peer, or a mutant, and the trials of one API that find it."""

    weight: float
    trials: frozenset[str]
    finders: set[str] = field(default_factory=set)
    """The cases that were chosen and find it."""

    def get_gain(self, case: str) -> float:
        """Return what it is worth if a trial of `case` finds it too."""
        if case in self.finders or len(self.finders) >= MOST_FINDERS:
            return 0
        return self.weight * NEXT_FINDER ** len(self.finders)


def main() -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(
        prog="python -m streamconform_dev.matrix.trial_order", description=__doc__
    )
    parser.add_argument("results", metavar="RESULTS", nargs="*", type=Path, help="[default: all in .conform]")
    paths = parser.parse_args().results or sorted(JUDGED.glob("*.jsonl"))
    if not paths:
        parser.error(f"no results in {JUDGED}; `conform dev matrix` writes them")
    peers = [[unsettle(trial) for trial in read(path).trials] for path in paths]
    targets = [*(target for trials in peers for target in list_causes(trials)), *list_mutants()]
    chosen = choose(targets, measure_costs(peers))
    ORDER.write_text(HEAD + "".join(f"{id_}\n" for id_ in chosen), "utf-8")
    sys.stdout.write(f"{len(chosen)} trials for {len(targets)} targets in {len(peers)} peers and mutants\n")
    return 0


def list_causes(trials: Iterable[TrialResult]) -> Iterator[Target]:
    """Yield the causes of one peer's failures and warnings, for each API; the adapter's own are left out."""
    by_api: dict[str, list[TrialResult]] = defaultdict(list)
    for trial in trials:
        if trial.verdict in FAILED:
            by_api[trial.case.partition("/")[0]].append(trial)
    for of_api in by_api.values():
        verdicts = {trial.id: trial.verdict for trial in of_api}
        for cause in group_by_cause(of_api):
            if cause.culprit != "implementation":
                continue
            ids = frozenset(
                f"{failure.first.case}@{delivery}" if delivery else failure.first.case
                for failure in cause.failures
                for delivery in failure.deliveries
            )
            only_warns = all(verdicts[id_] == "warn" for id_ in ids)
            yield Target(WEIGHTS[cause.harm] * (WARNING_WEIGHT if only_warns else 1), ids)


def list_mutants() -> Iterator[Target]:
    """Run all mutants, and yield each with the trials that catch it, for each API."""
    groups = tuple(group_mutants(tuple(MUTANTS), select(SelectionSettings()).trials))
    for found in run_groups(groups, count_default_workers(), SECONDS_PER_TRIAL):
        caught: dict[tuple[int, str], set[str]] = defaultdict(set)
        for result in found:
            if result.verdict in ("fail", "warn"):
                caught[result.implementation, result.case.partition("/")[0]].add(result.id)
        yield from (Target(MUTANT_WEIGHT, frozenset(ids)) for ids in caught.values())


def measure_costs(peers: Sequence[Sequence[TrialResult]]) -> dict[str, float]:
    """Return the cost of each trial: its duration, in trials of average duration of the same peer.

    A changed stream costs at least as much as the unchanged one, which is easier to read in a report, and
    fails for fewer reasons.
    """
    ratios: dict[str, list[float]] = defaultdict(list)
    for trials in peers:
        ran = [trial for trial in trials if trial.verdict != "skipped"]
        average = statistics.fmean(trial.ms for trial in ran)
        for trial in ran:
            ratios[trial.id].append(trial.ms / average)
    durations = {id_: max(MIN_COST, statistics.fmean(values)) for id_, values in ratios.items()}
    return {
        id_: max(cost, durations.get(f"{id_.partition('@')[0]}@{AS_IS}", 0))
        for id_, cost in durations.items()
    }


def choose(targets: Iterable[Target], costs: Mapping[str, float]) -> list[str]:
    """Return trial ids in order: at each step, the one with the largest gain per cost."""
    by_trial: dict[str, list[Target]] = defaultdict(list)
    for target in targets:
        for id_ in target.trials:
            by_trial[id_].append(target)

    def rate(id_: str) -> float:
        case = id_.partition("@")[0]
        return sum(target.get_gain(case) for target in by_trial[id_]) / costs.get(id_, 1)

    # Gains only shrink, so an old gain is an upper limit, and few need to be computed again at each step.
    queue = [(-rate(id_), id_) for id_ in by_trial]
    heapq.heapify(queue)
    chosen: list[str] = []
    while queue:
        limit, id_ = heapq.heappop(queue)
        gain = rate(id_)
        if gain == 0:
            continue
        if gain < -limit:
            heapq.heappush(queue, (-gain, id_))
            continue
        chosen.append(id_)
        for target in by_trial[id_]:
            target.finders.add(id_.partition("@")[0])
    return chosen


if __name__ == "__main__":
    sys.exit(main())
