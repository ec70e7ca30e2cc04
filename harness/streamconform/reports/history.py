"""Compare the results of two runs, trial by trial. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from streamconform.model.result import ImplementationInfo, TrialResult, is_unexpected
from streamconform.run.merge import sort_trials
from streamconform.run.results import Results

ChangeKind = Literal["new", "fixed", "still", "stale", "changed", "gone", "added", "same"]
KINDS: Final[tuple[ChangeKind, ...]] = get_args(ChangeKind)

IDENTITIES: Final[tuple[Callable[[ImplementationInfo], object], ...]] = (
    lambda info: (info.impl, info.input),
    lambda info: info.impl,
    lambda info: info.name,
)
"""The keys used to match implementations between two runs' results, most reliable first."""


@dataclass(frozen=True, slots=True)
class Change:
    """A trial that is in both results files, or only in one.

    `kind` is one of:

    - `new`: fails now, but passed, was known or did not exist before
    - `fixed`: failed before, listed as known or not, and passes now without being listed
    - `still`: failed before and now
    - `stale`: listed as a known failure now, and passes
    - `changed`: any other change in verdict, such as `pass` to `skipped` or `fail` to `known`
    - `gone`: only in the earlier results, whatever its verdict
    - `added`: only in the later results, and does not fail
    - `same`: the same verdict, and not a failure
    """

    kind: ChangeKind
    before: TrialResult | None
    after: TrialResult | None

    @property
    def trial(self) -> TrialResult:
        """Return the trial to show: the earlier one if it was fixed or removed, otherwise the later one."""
        first, second = self.before, self.after
        sides = (first, second) if self.kind in ("fixed", "gone") else (second, first)
        return next(side for side in sides if side is not None)


@dataclass(frozen=True, slots=True)
class History:
    """Every trial's change, in the order of the later results, followed by the removed trials."""

    before: Results
    after: Results
    pairs: Mapping[int, int]
    """Maps an implementation's index in the later results to its index in the earlier results."""
    changes: tuple[Change, ...]

    def select(self, kind: ChangeKind) -> tuple[Change, ...]:
        """Return the changes of one kind."""
        return tuple(change for change in self.changes if change.kind == kind)

    @property
    def counts(self) -> Mapping[ChangeKind, int]:
        """Return the number of changes of each kind, including zeros."""
        counts = Counter(change.kind for change in self.changes)
        return {kind: counts[kind] for kind in KINDS}


def compare_results(before: Results, after: Results) -> History:
    """Return the change of each trial from `before` to `after`.

    Trials match by id and implementation. Implementations match by `impl` and input, or else by `impl`, or
    else by name; if each run has only one implementation, the two match. Each run decides for itself what
    counts as a failure, since either may have been `strict`.
    """
    after = sort_trials(after)
    pairs = _pair_implementations(before.header.implementations, after.header.implementations)
    earlier = {(trial.implementation, trial.id): trial for trial in before.trials}
    changes: list[Change] = []
    for trial in after.trials:
        previous = earlier.pop((pairs.get(trial.implementation, -1), trial.id), None)
        failed_before = previous is not None and _is_failure(previous, before)
        kind = _classify(previous, trial, failed_before=failed_before, fails=_is_failure(trial, after))
        changes.append(Change(kind, previous, trial))
    # By identity: trials hold mappings, which have no hash.
    gone_ids = {id(trial) for trial in earlier.values()}
    gone = (Change("gone", trial, None) for trial in sort_trials(before).trials if id(trial) in gone_ids)
    return History(before, after, pairs, (*changes, *gone))


def _classify(
    before: TrialResult | None, after: TrialResult, *, failed_before: bool, fails: bool
) -> ChangeKind:
    if fails:
        return "still" if failed_before else "new"
    if after.verdict == "stale":
        return "stale"
    if before is None:
        return "added"
    if after.verdict in ("pass", "warn") and (failed_before or before.verdict == "known"):
        return "fixed"
    return "same" if after.verdict == before.verdict else "changed"


def _is_failure(trial: TrialResult, results: Results) -> bool:
    strict = bool(results.header.selection.get("strict"))
    return trial.verdict != "stale" and is_unexpected(trial, strict=strict)


def _pair_implementations(
    before: Sequence[ImplementationInfo], after: Sequence[ImplementationInfo]
) -> dict[int, int]:
    """Map the index of each implementation in `after` to its index in `before`; none is used twice."""
    pairs: dict[int, int] = {}
    # Each key is tried for all implementations before the next key, so that a weak match never takes the
    # partner of a strong one.
    for identify in IDENTITIES:
        for new, info in enumerate(after):
            candidates = (
                old
                for old, other in enumerate(before)
                if identify(other) == identify(info) and old not in pairs.values()
            )
            if new not in pairs and (old := next(candidates, None)) is not None:
                pairs[new] = old
    if not pairs and len(before) == len(after) == 1:
        pairs[0] = 0
    return pairs
