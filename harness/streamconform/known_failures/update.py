"""Plan the smallest update of a known-failures file that makes it match a run. Pure.

Entries that are still correct are not changed. Expired entries are also kept, because a person must decide
what to do with them. New entries are about causes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import Struct, field, structs

from streamconform.causes.roots import fold_crashes, get_api
from streamconform.known_failures.match import (
    FULL,
    Coverage,
    GetPaths,
    OutdatedEntry,
    Settler,
    count_trials,
    get_match_status,
    group_by_entry,
    is_failure,
    list_judged_apis,
)
from streamconform.known_failures.model import Entry, KnownCause, KnownFailure, KnownFailures
from streamconform.model.result import TrialResult

TODO: Final = "TODO: say why"
TODO_ISSUE: Final = "TODO"


class Amendment(Struct, frozen=True):
    """The changes to a file: entries to remove and to replace, by index, and entries to add."""

    removed: frozenset[int] = frozenset()
    narrowed: Mapping[int, tuple[KnownFailure, ...]] = field(default_factory=dict)
    """The narrower entries that replace each entry."""
    counted: Mapping[int, int] = field(default_factory=dict)
    """The new number of trials of each entry for a cause."""
    added: tuple[KnownCause, ...] = ()
    scope: Mapping[str, Any] | None = None
    """The scope to add to the file."""

    @property
    def empty(self) -> bool:
        """Return whether nothing changes."""
        return not (self.removed or self.narrowed or self.counted or self.added)

    def apply(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """Return the entries after the changes, in file order."""
        kept: list[Entry] = []
        for number, entry in enumerate(entries):
            if number in self.removed:
                continue
            if isinstance(entry, KnownCause):
                kept.append(replace(entry, trials=self.counted.get(number, entry.trials)))
            else:
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
    scope: Mapping[str, Any] | None = None,
    coverage: Coverage = FULL,
) -> Amendment:
    """Return the changes that make `known` match the unsettled `results` of one implementation.

    Stale, unmatched and duplicate entries are removed. An entry that is too wide is replaced by narrower ones
    with the same reason. Entries for causes get the number of their trials in this run. A failure that is
    listed neither in this file nor in the `beside` files is added, as an entry for its cause. If `beside` is
    None, nothing is added. `scope` is how this run's selection differs from the default one, and `coverage`
    says which entries it is about.
    """
    change = _amend_patterns(known, results, outdated, paths)
    added: tuple[KnownCause, ...] = ()
    if beside is not None:
        # Only the remaining entries count: a failure that a narrowed entry no longer covers is a new failure.
        remaining = replace(known, entries=change.apply(known.entries))
        added = _create_entries((*beside, remaining), results, paths, strict=strict)
    causes, new = known.causes, dict(enumerate(added, start=len(known.entries)))
    # An entry may lose trials to a new one that fits them better, so all are counted.
    entries = {n: entry for n, entry in (causes | new).items() if n not in change.removed}
    groups = group_by_entry(entries, results, strict=strict)
    counts = {n: count_trials(group) for n, group in groups.items()}
    judged = list_judged_apis(results)
    own = [n for n in causes if n in counts and causes[n].api in judged and coverage.includes(causes[n])]
    return structs.replace(
        change,
        removed=change.removed | {n for n in own if not counts[n]},
        counted={n: counts[n] for n in own if counts[n] not in (0, causes[n].trials)},
        added=tuple(replace(entry, trials=counts[n]) for n, entry in new.items()),
        scope=dict(scope) if scope and added and not causes and known.scope is None else None,
    )


def _amend_patterns(
    known: KnownFailures,
    results: Iterable[TrialResult],
    outdated: Iterable[OutdatedEntry],
    paths: GetPaths,
) -> Amendment:
    """Return the changes that need no count: wrong entries to remove, and patterns to narrow."""
    kinds, patterns = {(item.entry, item.kind) for item in outdated}, known.patterns
    removed = frozenset(
        n for n, kind in kinds if kind in ("unmatched", "duplicate") or (kind == "stale" and n in patterns)
    )
    cases: dict[str, list[TrialResult]] = {}
    for result in results:
        cases.setdefault(result.case, []).append(result)
    wide = sorted(n for n, kind in kinds if kind == "too-wide" and n not in removed)
    return Amendment(removed, {n: tuple(_narrow(patterns[n], cases, paths)) for n in wide})


def _create_entries(
    files: Sequence[KnownFailures], results: Sequence[TrialResult], paths: GetPaths, *, strict: bool
) -> tuple[KnownCause, ...]:
    """Return an entry for each cause and API that no entry of `files` lists, in the order of `results`.

    Its example is the first trial. The number of trials is not known yet, because new entries divide them.
    """
    patterns = [replace(file, entries=tuple(file.patterns.values())) for file in files]
    settle = Settler(patterns, paths, strict=strict)
    listed = {entry.key for file in files for entry in file.causes.values()}
    failed = [result for result in results if is_failure(result, strict=strict)]
    added: dict[tuple[str, str], KnownCause] = {}
    for result, root in zip(failed, fold_crashes(failed), strict=True):
        key = api, id_ = get_api(result), root.id
        if key in listed or not is_failure(settle(result), strict=strict):
            continue
        new = KnownCause(cause=id_, api=api, trials=1, reason=TODO, issue=TODO_ISSUE, example=result.id)
        added.setdefault(key, new)
    return tuple(added.values())


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
            yield from _narrow_in_case(entry, colon + check, alone, group, paths)


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


def _narrow_in_case(
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
