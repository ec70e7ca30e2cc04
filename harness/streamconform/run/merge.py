"""Merge results files: shards of one run, and runs of several implementations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

from streamconform.errors import ReportError
from streamconform.model.result import Footer, Header, ImplementationInfo, TrialResult, is_unexpected
from streamconform.model.trial import DELIVERIES, FAULTS
from streamconform.printable import escape_unprintable
from streamconform.run.claims import find_uncompared_claims
from streamconform.run.exits import Exit, select_exit
from streamconform.run.reading import FOLDERS
from streamconform.run.results import Results

DELIVERY_ORDER: Final = (*DELIVERIES, *FAULTS)
"""The order of a case's trials in merged results and reports."""


def merge(runs: Sequence[tuple[str, Results]]) -> Results:
    """Merge `runs`, which are pairs of a file name and its results.

    The trials of equal implementations are joined, as shards of one run. Raises `ReportError` if the runs
    have different suites or seeds, or if two of them contain the same trial.
    """
    (first_name, first), *others = runs
    implementations: list[ImplementationInfo] = []
    files: dict[tuple[int, str], str] = {}
    trials: list[TrialResult] = []
    imported: dict[int, bool | None] = {}
    for name, run in runs:
        _require_same_suite(first_name, first.header, name, run.header)
        indexes = _map_implementations(implementations, run.header.implementations)
        flags = run.footer.imported_reference if run.footer is not None else ()
        for index, flag in zip(indexes, flags, strict=False):
            imported[index] = imported.get(index) or flag
        for trial in run.trials:
            index = indexes[trial.implementation]
            if (index, trial.id) in files:
                _report_duplicate(files[index, trial.id], name, implementations[index], trial)
            files[index, trial.id] = name
            trials.append(replace(trial, implementation=index))
    if not others:
        return sort_trials(first)
    header = _merge_headers([run.header for _, run in runs], implementations, trials)
    footer = _merge_footers([run for _, run in runs], trials)
    if footer is not None and imported:
        flags = tuple(imported.get(index) for index in range(len(implementations)))
        footer = replace(footer, imported_reference=flags)
    return sort_trials(Results(header, tuple(trials), footer))


def sort_trials(results: Results) -> Results:
    """Return `results` with its trials in suite order, regardless of the order in which they finished."""
    return replace(results, trials=tuple(sorted(results.trials, key=_sort_key)))


def _sort_key(trial: TrialResult) -> tuple[Any, ...]:
    name, _, rest = (trial.delivery or "").partition(".")
    order = DELIVERY_ORDER.index(name) if name in DELIVERY_ORDER else len(DELIVERY_ORDER)
    # Digits are compared as numbers, so that `cut-after-frame.2` comes before `.10`. Their length is limited,
    # because Python converts long digit strings in quadratic time and results may come from anywhere.
    numbers = [int(digits) for digits in re.findall(r"[0-9]{1,9}", rest)]
    return trial.implementation, trial.case.split("/"), order, numbers, trial.id


def _map_implementations(merged: list[ImplementationInfo], added: Sequence[ImplementationInfo]) -> list[int]:
    """Return the index in `merged` of each implementation in `added`; those that are missing are appended."""
    indexes: list[int] = []
    for info in added:
        # A run may name the same implementation twice, so an index is used once per run.
        free = (i for i, other in enumerate(merged) if other == info and i not in indexes)
        index = next(free, len(merged))
        if index == len(merged):
            merged.append(info)
        indexes.append(index)
    return indexes


def _require_same_suite(first_name: str, first: Header, other_name: str, other: Header) -> None:
    for name, first_value, other_value in (
        ("streamconform version", first.version, other.version),
        ("rules", first.rules, other.rules),
        ("seed", first.seed, other.seed),
        *((folder, first.selection.get(folder), other.selection.get(folder)) for folder in FOLDERS),
    ):
        if first_value != other_value:
            raise ReportError(
                f"`{first_name}` and `{other_name}` differ in {name} (`{first_value}`, `{other_value}`); "
                "make one report per file"
            )


def _report_duplicate(first: str, other: str, info: ImplementationInfo, trial: TrialResult) -> NoReturn:
    where = f"twice in `{first}`" if first == other else f"in both `{first}` and `{other}`"
    what = f"`{escape_unprintable(trial.id[:200])}` of `{escape_unprintable(info.impl[:200])}`"
    raise ReportError(f"{what} is {where}; shards of a run have no trials in common; make one report per run")


def _all_agree(headers: Sequence[Header], key: str, value: Any) -> bool:
    return all(header.selection.get(key) == value for header in headers)


def _merge_headers(
    headers: Sequence[Header], implementations: Sequence[ImplementationInfo], trials: Sequence[TrialResult]
) -> Header:
    first = headers[0]
    return replace(
        first,
        # Shards may split a case, so the number of cases is not a sum.
        cases=max(len({trial.case for trial in trials}), *(header.cases for header in headers)),
        trials=sum(header.trials for header in headers),
        implementations=tuple(implementations),
        date=max((header.date for header in headers if header.date), default=None),
        command=None,  # describes one shard only
        platform=first.platform if len({header.platform for header in headers}) == 1 else None,
        selection={k: v for k, v in first.selection.items() if _all_agree(headers, k, v)},
    )


def _merge_footers(runs: Sequence[Results], trials: Sequence[TrialResult]) -> Footer | None:
    """Return one footer for all runs, which have `trials`, or None if any of them was killed."""
    complete = [run.footer for run in runs if run.footer is not None]
    if len(complete) < len(runs):
        return None
    counts: Counter[str] = Counter()
    for footer in complete:
        counts.update(footer.counts)
    is_complete = all(footer.complete for footer in complete)
    claims = find_uncompared_claims(trials) if is_complete else ()
    codes = [*map(_get_exit_without_claims, runs), *([Exit.UNEXPECTED] if claims else [])]
    return Footer(
        counts=dict(counts),
        exit=select_exit(*codes),
        complete=is_complete,
        problems=tuple(dict.fromkeys(problem for footer in complete for problem in footer.problems)),
        seconds=_add_seconds(complete),
        lost=tuple(id_ for footer in complete for id_ in footer.lost),
        stopped="; ".join(footer.stopped for footer in complete if footer.stopped) or None,
        claims=claims,
    )


def _get_exit_without_claims(run: Results) -> Exit:
    """Return a run's exit code, without the effect of claims that it never compared.

    Another shard may have compared them, so they are decided again for all shards.
    """
    footer = run.footer
    # An exit code unknown to this version must not count as success.
    if footer is None or footer.exit not in set(Exit):
        return Exit.BUG
    strict = bool(run.header.selection.get("strict"))
    only_claims = not footer.problems and not any(is_unexpected(trial, strict=strict) for trial in run.trials)
    is_cleared = footer.exit == Exit.UNEXPECTED and footer.claims and only_claims
    return Exit.EXPECTED if is_cleared else Exit(footer.exit)


def _add_seconds(footers: Sequence[Footer]) -> float | None:
    """Return the sum of the durations, or None if any is missing."""
    durations = [footer.seconds for footer in footers if footer.seconds is not None]
    return round(sum(durations), 1) if len(durations) == len(footers) else None
