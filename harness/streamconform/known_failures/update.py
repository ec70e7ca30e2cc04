"""What has to change in a known-failures file so that it is true of a run. Pure.

The least that makes it true: entries that hold are left alone. One that has expired stays too, because
somebody has to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from streamconform.known_failures.match import Finding, Paths, Settler, fails, standing
from streamconform.known_failures.model import Failing, KnownFailure, KnownFailures
from streamconform.model.result import TrialResult

TODO: Final = "TODO: say why"
TODO_ISSUE: Final = "TODO"


@dataclass(frozen=True, slots=True)
class Amendment:
    """What becomes of a file: entries by number that go, that others stand in for, and new ones."""

    removed: frozenset[int]
    narrowed: Mapping[int, tuple[KnownFailure, ...]]
    added: tuple[KnownFailure, ...]

    @property
    def empty(self) -> bool:
        """Return whether nothing changes."""
        return not (self.removed or self.narrowed or self.added)

    def applied(self, entries: Sequence[KnownFailure]) -> tuple[KnownFailure, ...]:
        """Return the entries as they are afterwards, in the order of the file."""
        kept: list[KnownFailure] = []
        for number, entry in enumerate(entries):
            if number not in self.removed:
                kept += self.narrowed.get(number, (entry,))
        return (*kept, *self.added)


def relist(
    known: KnownFailures,
    results: Sequence[TrialResult],
    findings: Sequence[Finding],
    paths: Paths,
    *,
    strict: bool,
    beside: Iterable[KnownFailures] | None = (),
) -> Amendment:
    """Return the changes that make `known` true of `results`, not settled, of one implementation.

    Stale, unmatched and duplicate entries go. One that is too wide becomes those that are not, with its
    reason. What fails and is not listed, here or in the files `beside` it, is added: one entry for a case
    where the whole case fails. With None nothing is added.
    """
    kinds = {(each.entry, each.kind) for each in findings}
    removed = frozenset(n for n, kind in kinds if kind in ("stale", "unmatched", "duplicate"))
    wide = sorted(n for n, kind in kinds if kind == "too-wide" and n not in removed)
    cases: dict[str, list[TrialResult]] = {}
    for result in results:
        cases.setdefault(result.case, []).append(result)
    narrowed = {n: tuple(_narrowed(known.entries[n], cases, paths)) for n in wide}
    change = Amendment(removed, narrowed, ())
    if beside is None:
        return change
    kept = replace(known, entries=change.applied(known.entries))
    settle = Settler((*beside, kept), paths, strict=strict)
    added: list[KnownFailure] = []
    for group in cases.values():
        new: dict[Failing, list[TrialResult]] = {}
        for result in map(settle, group):
            if fails(result, strict=strict):
                new.setdefault(_failing(result), []).append(result)
        for verdict, failed in new.items():
            like = KnownFailure(match="", verdict=verdict, reason=TODO, issue=TODO_ISSUE)
            added += _entries(like, "", failed, group, paths)
    return replace(change, added=tuple(added))


def _narrowed(
    entry: KnownFailure, cases: Mapping[str, list[TrialResult]], paths: Paths
) -> Iterator[KnownFailure]:
    """Yield entries like `entry`, about the same checks, for what it says truly."""
    _, colon, check = entry.match.partition(":")
    for group in cases.values():
        failed = [each for each in group if standing(entry, each, paths) == "listed"]
        yield from _entries(entry, colon + check, failed, group, paths)


def _entries(
    like: KnownFailure, check: str, failed: list[TrialResult], group: list[TrialResult], paths: Paths
) -> Iterator[KnownFailure]:
    """Yield entries like `like` that match `failed`, results of one case, as few as can be.

    `group` are all results of the case: a pattern may be about none of them that passes.
    """
    left = {result.delivery: result for result in failed}
    while left:
        delivery, result = next(iter(left.items()))
        for pattern in _patterns(result, group):
            entry = replace(like, match=pattern + check, line=0)
            stands = {each.delivery: standing(entry, each, paths) for each in group}
            if "passes" not in stands.values() or pattern == result.id:
                yield entry
                left = {name: each for name, each in left.items() if stands[name] != "listed"}
                left.pop(delivery, None)  # whatever its entry says, one is enough
                break


def _patterns(result: TrialResult, group: list[TrialResult]) -> Iterator[str]:
    """Yield the patterns that match a trial, the widest first; of a single trial its id."""
    names = {each.delivery or "" for each in group}
    if len(names) > 1:
        kind, dot, _ = (result.delivery or "").partition(".")
        if any("." in name for name in names):
            yield f"{result.case}@**"
        if not dot:
            yield f"{result.case}@*"
        elif sum(name.startswith(f"{kind}.") for name in names) > 1:
            yield f"{result.case}@{kind}.*"
    yield result.id


def _failing(result: TrialResult) -> Failing:
    match result.verdict:
        case "hang" | "faulted":
            return result.verdict
        case _:
            return "fail"
