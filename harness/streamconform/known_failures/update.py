"""Plan the smallest update of a known-failures file that makes it match a run. Pure.

Entries that are still correct are not changed. Expired entries are also kept, because a person must decide
what to do with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from streamconform.known_failures.match import GetPaths, OutdatedEntry, Settler, get_match_status, is_failure
from streamconform.known_failures.model import Failing, KnownFailure, KnownFailures
from streamconform.model.result import TrialResult

TODO: Final = "TODO: say why"
TODO_ISSUE: Final = "TODO"


@dataclass(frozen=True, slots=True)
class Amendment:
    """The changes to a file: entries to remove and to replace, by index, and entries to add."""

    removed: frozenset[int]
    narrowed: Mapping[int, tuple[KnownFailure, ...]]
    """The narrower entries that replace each entry."""
    added: tuple[KnownFailure, ...]

    @property
    def empty(self) -> bool:
        """Return whether nothing changes."""
        return not (self.removed or self.narrowed or self.added)

    def apply(self, entries: Sequence[KnownFailure]) -> tuple[KnownFailure, ...]:
        """Return the entries after the changes, in file order."""
        kept: list[KnownFailure] = []
        for number, entry in enumerate(entries):
            if number not in self.removed:
                kept += self.narrowed.get(number, (entry,))
        return (*kept, *self.added)


def plan_update(
    known: KnownFailures,
    results: Sequence[TrialResult],
    outdated: Sequence[OutdatedEntry],
    paths: GetPaths,
    *,
    strict: bool,
    beside: Iterable[KnownFailures] | None = (),
) -> Amendment:
    """Return the changes that make `known` match the unsettled `results` of one implementation.

    Stale, unmatched and duplicate entries are removed. An entry that is too wide is replaced by narrower ones
    with the same reason. A failure that is listed neither in this file nor in the `beside` files is added; if
    a whole case fails, it gets one entry. If `beside` is None, nothing is added.
    """
    kinds = {(item.entry, item.kind) for item in outdated}
    removed = frozenset(n for n, kind in kinds if kind in ("stale", "unmatched", "duplicate"))
    wide = sorted(n for n, kind in kinds if kind == "too-wide" and n not in removed)
    cases: dict[str, list[TrialResult]] = {}
    for result in results:
        cases.setdefault(result.case, []).append(result)
    narrowed = {n: tuple(_narrow(known.entries[n], cases, paths)) for n in wide}
    change = Amendment(removed, narrowed, ())
    if beside is None:
        return change
    remaining = replace(known, entries=change.apply(known.entries))
    # Only the remaining entries count: a failure that a narrowed entry no longer covers is a new failure.
    settle = Settler((*beside, remaining), paths, strict=strict)
    added: list[KnownFailure] = []
    for group in cases.values():
        # Grouped by verdict, because an entry lists only one.
        new: dict[Failing, list[TrialResult]] = {}
        for result in map(settle, group):
            if is_failure(result, strict=strict):
                new.setdefault(_get_failing(result), []).append(result)
        for verdict, failed in new.items():
            template = KnownFailure(match="", verdict=verdict, reason=TODO, issue=TODO_ISSUE)
            added += _create_entries(template, "", failed, group, paths)
    return replace(change, added=tuple(added))


def _narrow(
    entry: KnownFailure, cases: Mapping[str, list[TrialResult]], paths: GetPaths
) -> Iterator[KnownFailure]:
    """Yield narrower copies of `entry`, with the same checks, that match only its failing trials.

    A copy matches a whole topic or API if every failing trial in it would otherwise be listed separately.
    """
    _, colon, check = entry.match.partition(":")
    results = [result for group in cases.values() for result in group]
    failed = {result.id: result for result in results if get_match_status(entry, result, paths) == "matched"}
    while failed:
        result = next(iter(failed.values()))
        for pattern in _list_wide_patterns(result):
            copy = replace(entry, match=pattern + colon + check, line=0)
            scope = [other for other in results if other.case.startswith(pattern.partition("*")[0])]
            statuses = {other.id: get_match_status(copy, other, paths) for other in scope}
            covered = [id_ for id_ in failed if statuses.get(id_) == "matched"]
            # For one case, the narrower patterns below are enough.
            if "passing" not in statuses.values() and len({failed[id_].case for id_ in covered}) > 1:
                yield copy
                failed = {id_: other for id_, other in failed.items() if id_ not in covered}
                break
        else:
            group = cases[result.case]
            alone = [failed.pop(other.id) for other in group if other.id in failed]
            yield from _create_entries(entry, colon + check, alone, group, paths)


def _list_wide_patterns(result: TrialResult) -> Iterator[str]:
    """Yield the patterns that match `result` and also other cases, widest first."""
    topic = result.case.rpartition("/")[0]
    kind, dot, _ = (result.delivery or "").partition(".")
    for cases in (f"{topic.partition('/')[0]}/**", f"{topic}/*"):
        if result.delivery is None:
            yield cases
        else:
            yield f"{cases}@**"
            yield f"{cases}@{kind}.*" if dot else f"{cases}@{kind}"


def _create_entries(
    template: KnownFailure, check: str, failed: list[TrialResult], group: list[TrialResult], paths: GetPaths
) -> Iterator[KnownFailure]:
    """Yield as few copies of `template` as possible that match `failed`, the failed results of one case.

    `group` contains all results for the case; no pattern may match one that passes.
    """
    remaining = {result.delivery: result for result in failed}
    while remaining:
        delivery, result = next(iter(remaining.items()))
        for pattern in _list_patterns(result, group):
            entry = replace(template, match=pattern + check, line=0)
            statuses = {r.delivery: get_match_status(entry, r, paths) for r in group}
            if "passing" not in statuses.values() or pattern == result.id:
                yield entry
                remaining = {name: r for name, r in remaining.items() if statuses[name] != "matched"}
                remaining.pop(delivery, None)  # even if its own entry does not match, one entry is enough
                break


def _list_patterns(result: TrialResult, group: list[TrialResult]) -> Iterator[str]:
    """Yield the patterns that match `result`, widest first; the last one is its id."""
    names = {other.delivery or "" for other in group}
    if len(names) > 1:
        kind, dot, _ = (result.delivery or "").partition(".")
        if any("." in name for name in names):
            yield f"{result.case}@**"
        if not dot:
            yield f"{result.case}@*"
        elif sum(name.startswith(f"{kind}.") for name in names) > 1:
            yield f"{result.case}@{kind}.*"
    yield result.id


def _get_failing(result: TrialResult) -> Failing:
    match result.verdict:
        case "hang" | "faulted":
            return result.verdict
        case _:
            return "fail"
