"""A section of the matrix: who an implementation is, and what fails of it, by cause. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from streamconform.apis import APIS
from streamconform.model.result import Header, TrialResult
from streamconform.reports.causes import Cause, Failure, causes
from streamconform.reports.markdown import code
from streamconform.reports.matrix.place import WEB, Place, slug, tracked
from streamconform.reports.matrix.score import COLUMNS, RECORDED, Row, columns_of, is_fault
from streamconform.reports.words import briefly, called, counted
from streamconform.suite.load import COMMON

REASONS_SHOWN: Final = 3
DELIVERIES_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Caps:
    """How long lists may be: causes of an api, and cases of a cause."""

    causes: int
    cases: int


def section(header: Header, own: Sequence[Row], place: Place, anchor: str, caps: Caps) -> Iterator[str]:
    """Yield the blocks about one implementation; `own` are its rows, not empty."""
    at = own[0].implementation
    info = header.implementations[at]
    yield f'<a id="{anchor}"></a>'
    yield f"## {code(called(header)[at])}"
    facts = [
        *([f"release {code(info.version)}"] if info.version else []),
        *([f"written in {code(info.language)}"] if info.language else []),
        f"fed by {code(info.input)}, as {code(f'--impl {info.impl}')}",
        *([f"used through {place.through[info.impl]}"] if info.impl in place.through else []),
    ]
    if info.issues:
        facts.append(f"[bugs]({info.issues})" if WEB.fullmatch(info.issues) else code(info.issues))
    yield "; ".join(facts) + "."
    listed = bool(header.selection.get("known_failures"))
    for row in own:
        api = row.api if row.api in (*APIS, COMMON) else code(row.api)
        yield f'<a id="{anchor}-{slug(row.api)}"></a>'
        yield f"**{api}**: {_said(row)}"
        if row.failing:
            yield from _details(row, place, caps, listed=listed)


def _said(row: Row) -> str:
    """Return in words how many cases fail, and where the others are broken."""
    plain = {each.case for each in row.failing if each.delivery in (RECORDED, None)}
    broken = {each.case for each in row.failing if is_fault(each)}
    others = {each.case for each in row.failing} - plain - broken
    told = [
        f"{len(cases)} {how}"
        for cases, how in (
            (plain, "as recorded"),
            (others, "only in other deliveries of the same stream"),
            (broken - plain - others, "only when the stream is broken"),
        )
        if cases
    ]
    judged = counted(row.cases.judged, "case")
    return f"{judged}; failing: {', '.join(told)}." if told else f"{judged}; none fails."


def _details(row: Row, place: Place, caps: Caps, *, listed: bool) -> Iterator[str]:
    found = sorted(causes(row.failing), key=lambda cause: -cause.trials)
    cases = len({each.case for each in row.failing})
    yield f"<details><summary>{counted(len(found), 'cause')}, {counted(cases, 'case')}</summary>"
    for cause in found[: caps.causes]:
        yield "\n".join(_cause(cause, row, place, caps, listed=listed))
    if len(found) > caps.causes:
        yield f"_{len(found) - caps.causes} rarer causes are left out here._"
    yield "</details>"


def _cause(cause: Cause, row: Row, place: Place, caps: Caps, *, listed: bool) -> Iterator[str]:
    cases: dict[str, list[str]] = {}
    for failure in cause.failures:
        cases.setdefault(failure.first.case, []).extend(failure.deliveries)
    tally = f"{counted(len(cases), 'case')}, {counted(cause.trials, 'trial')}"
    where = ", ".join(COLUMNS[name] for name in columns_of(cases, row, place.suite))
    yield f"- {code(cause.what, 200)} ({where}): {tally}; {_example(cause.failures[0])}"
    ids = {f"{case}@{name}" if name else case for case, names in cases.items() for name in names}
    yield from _reasons([each for each in row.failing if each.id in ids], listed=listed)
    first = sorted(cases.items(), key=lambda each: RECORDED not in each[1])
    for case, names in first[: caps.cases]:
        yield f"  - {place.case(case)}{_deliveries(names)}"
    if len(cases) > caps.cases:
        yield f"  - … and {len(cases) - caps.cases} more"


def _example(failure: Failure) -> str:
    lines = briefly(failure.first, failure.check)
    told = "; ".join(each.strip() for each in lines[:3])
    return code(told.removeprefix(f"{failure.check.path}: ") if failure.check else told, 240)


def _reasons(trials: Sequence[TrialResult], *, listed: bool) -> Iterator[str]:
    """Yield why the trials are known to fail and where that is tracked, the commonest first."""
    told = Counter((each.known or "", each.tracked) for each in trials)
    for (why, issues), count in told.most_common(REASONS_SHOWN):
        if why:
            yield f"  - known: {code(why, 300)} {', '.join(tracked(each) for each in issues[:REASONS_SHOWN])}"
        elif listed:
            yield f"  - **not known before**: {counted(count, 'trial')}"
    if len(told) > REASONS_SHOWN:
        yield f"  - {len(told) - REASONS_SHOWN} more reasons"


def _deliveries(names: Sequence[str]) -> str:
    shown = ", ".join(code(each, 60) for each in names[:DELIVERIES_SHOWN] if each)
    more = len(names) - DELIVERIES_SHOWN
    return f" ({shown} and {more} more)" if more > 0 else f" ({shown})" if shown else ""
