"""Two results beside each other: what fails that did not, what does not any more. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from streamconform.model.result import ImplementationInfo, TrialResult
from streamconform.run.merge import sort_trials
from streamconform.run.pool import is_unexpected
from streamconform.run.results import Results

Kind = Literal["new", "fixed", "still", "stale", "changed", "gone", "added", "same"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Change:
    """A trial in both results, or in one of them; at least one side is there.

    `kind` is one of:

    - `new`: fails unexpectedly now and did not before, or was not there before
    - `fixed`: failed before, listed as known or not, and passes now without being listed
    - `still`: failed unexpectedly before and does now
    - `stale`: listed as a known failure now, and passes
    - `changed`: another verdict that is none of these, such as from `pass` to `skipped`, `fail` to `known`
    - `gone`: was there before and is not now, whatever its verdict was
    - `added`: was not there before and does not fail
    - `same`: the same verdict, and none that is unexpected
    """

    kind: Kind
    before: TrialResult | None
    after: TrialResult | None

    @property
    def shown(self) -> TrialResult:
        """Return the side that tells of it: what was fixed or is gone is told by the earlier results."""
        first, second = self.before, self.after
        sides = (first, second) if self.kind in ("fixed", "gone") else (second, first)
        return next(each for each in sides if each is not None)


@dataclass(frozen=True, slots=True)
class History:
    """What became of every trial: in the order of the later results, then what is gone."""

    before: Results
    after: Results
    pairs: Mapping[int, int]
    """Index of each later implementation that was there before, to its index there."""
    changes: tuple[Change, ...]

    def of(self, kind: Kind) -> tuple[Change, ...]:
        """Return the changes of one kind."""
        return tuple(each for each in self.changes if each.kind == kind)

    @property
    def counts(self) -> Mapping[Kind, int]:
        """Return how many changes there are of each kind, those of which there are none too."""
        found = Counter(each.kind for each in self.changes)
        return {kind: found[kind] for kind in KINDS}


def compare(before: Results, after: Results) -> History:
    """Return what became of each trial of `before` in `after`.

    Trials are the same where their ids are and their implementations are: the same `impl` and input, else
    the same `impl`, else the same name; where each of the results has one implementation, that one. What
    counts as a failure is told by each run for itself, since either may have been `strict`.
    """
    after = sort_trials(after)
    pairs = _pairs(before.header.implementations, after.header.implementations)
    earlier = {(each.implementation, each.id): each for each in before.trials}
    changes: list[Change] = []
    for now in after.trials:
        was = earlier.pop((pairs.get(now.implementation, -1), now.id), None)
        failed = was is not None and _fails(was, before)
        kind = _kind(was, now, failed=failed, fails=_fails(now, after))
        changes.append(Change(kind, was, now))
    left = {id(each) for each in earlier.values()}
    gone = (Change("gone", each, None) for each in sort_trials(before).trials if id(each) in left)
    return History(before, after, pairs, (*changes, *gone))


def _kind(was: TrialResult | None, now: TrialResult, *, failed: bool, fails: bool) -> Kind:
    if fails:
        return "still" if failed else "new"
    if now.verdict == "stale":
        return "stale"
    if was is None:
        return "added"
    if now.verdict in ("pass", "warn") and (failed or was.verdict == "known"):
        return "fixed"
    return "same" if now.verdict == was.verdict else "changed"


def _fails(trial: TrialResult, results: Results) -> bool:
    strict = bool(results.header.selection.get("strict"))
    return trial.verdict != "stale" and is_unexpected(trial, strict=strict)


def _pairs(before: Sequence[ImplementationInfo], after: Sequence[ImplementationInfo]) -> dict[int, int]:
    """Return for each implementation of `after` which one of `before` it is; none is taken twice."""
    found: dict[int, int] = {}
    for key in KEYS:
        for at, info in enumerate(after):
            free = (i for i, each in enumerate(before) if key(each) == key(info) and i not in found.values())
            if at not in found and (old := next(free, None)) is not None:
                found[at] = old
    if not found and len(before) == len(after) == 1:
        found[0] = 0
    return found


KEYS: Final[tuple[Callable[[ImplementationInfo], object], ...]] = (
    lambda info: (info.impl, info.input),
    lambda info: info.impl,
    lambda info: info.name,
)
"""What tells implementations apart, the surest first."""
