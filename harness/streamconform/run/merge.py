"""Several results as one: shards of a run, and runs of several implementations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

from streamconform.errors import ReportError
from streamconform.model.result import Footer, Header, ImplementationInfo, TrialResult
from streamconform.model.trial import DELIVERIES, FAULTS
from streamconform.printable import escape_unprintable
from streamconform.run.exits import Exit, worst
from streamconform.run.reading import FOLDERS
from streamconform.run.results import Results

PLACES: Final = (*DELIVERIES, *FAULTS)


def merge(runs: Sequence[tuple[str, Results]]) -> Results:
    """Return several runs as one; each comes with the name of its file.

    Shards of one run are joined where they name the same implementation; implementations that only one
    of them names stand beside each other. Raises `ReportError` where the runs are not of one suite and
    seed, or where two of them have the same trial.
    """
    (first_name, first), *others = runs
    implementations: list[ImplementationInfo] = []
    found: dict[tuple[int, str], str] = {}
    trials: list[TrialResult] = []
    for name, run in runs:
        _same_suite(first_name, first.header, name, run.header)
        places = _placed(implementations, run.header.implementations)
        for trial in run.trials:
            at = places[trial.implementation]
            if (at, trial.id) in found:
                _twice(found[at, trial.id], name, implementations[at], trial)
            found[at, trial.id] = name
            trials.append(replace(trial, implementation=at))
    if not others:
        return ordered(first)
    headers = [run.header for _, run in runs]
    cases = max(len({trial.case for trial in trials}), *(each.cases for each in headers))
    header = replace(
        first.header,
        cases=cases,
        trials=sum(each.trials for each in headers),
        implementations=tuple(implementations),
        date=max((each.date for each in headers if each.date), default=None),
        selection={k: v for k, v in first.header.selection.items() if _agreed(headers, k, v)},
    )
    return ordered(Results(header, tuple(trials), _footer([run.footer for _, run in runs])))


def ordered(results: Results) -> Results:
    """Return `results` with the trials in an order that does not tell which one ended first."""
    return replace(results, trials=tuple(sorted(results.trials, key=_place)))


def _place(trial: TrialResult) -> tuple[Any, ...]:
    name, _, rest = (trial.delivery or "").partition(".")
    known = PLACES.index(name) if name in PLACES else len(PLACES)
    numbers = [int(each) for each in re.findall(r"[0-9]{1,9}", rest)]
    return trial.implementation, trial.case.split("/"), known, numbers, trial.id


def _placed(known: list[ImplementationInfo], named: Sequence[ImplementationInfo]) -> list[int]:
    """Return where each of `named` is in `known`, which grows by those that are not."""
    places: list[int] = []
    for info in named:
        free = (i for i, each in enumerate(known) if each == info and i not in places)
        at = next(free, len(known))
        if at == len(known):
            known.append(info)
        places.append(at)
    return places


def _same_suite(one_name: str, one: Header, name: str, other: Header) -> None:
    for what, here, there in (
        ("of streamconform", one.version, other.version),
        ("with the seed", one.seed, other.seed),
        *((f"with the {each}", one.selection.get(each), other.selection.get(each)) for each in FOLDERS),
    ):
        if here != there:
            raise ReportError(
                f"`{one_name}` was made {what} `{here}`, `{name}` {what} `{there}`: make a report of each"
            )


def _twice(one: str, other: str, info: ImplementationInfo, trial: TrialResult) -> NoReturn:
    where = f"twice in `{one}`" if one == other else f"in `{one}` and in `{other}`"
    what = f"`{escape_unprintable(trial.id[:200])}` of `{escape_unprintable(info.impl[:200])}`"
    raise ReportError(f"{what} is {where}: shards of a run share no trial; make a report of each run")


def _agreed(headers: Sequence[Header], key: str, value: Any) -> bool:
    return all(each.selection.get(key) == value for each in headers)


def _footer(footers: Sequence[Footer | None]) -> Footer | None:
    """Return one footer for all; None where a run was killed."""
    whole = [each for each in footers if each is not None]
    if len(whole) < len(footers):
        return None
    counts: Counter[str] = Counter()
    for each in whole:
        counts.update(each.counts)
    codes = [Exit(each.exit) if each.exit in set(Exit) else Exit.BUG for each in whole]
    return Footer(
        counts=dict(counts),
        exit=worst(*codes),
        complete=all(each.complete for each in whole),
        problems=tuple(dict.fromkeys(problem for each in whole for problem in each.problems)),
    )
