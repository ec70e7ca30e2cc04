"""The history between two results as text, as JSON, and as a comment on a pull request."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.model.result import Header, TrialResult
from streamconform.reports.causes import Cause, causes, reproduce
from streamconform.reports.history import Change, History, Kind
from streamconform.reports.markdown import by_cause, cell, code, fitting
from streamconform.reports.style import Line
from streamconform.reports.words import briefly, called, counted, cut, printable
from streamconform.run.results import Results, check_to_json, to_json

CASES_SHOWN: Final = 3
ROWS_SHOWN: Final = 50
LEFT_OUT: Final = "_The rest does not fit here; `conform diff` prints all of it._"

NEW: Final = "New failures"
FIXED: Final = "Fixed"
STYLES: Final[Mapping[str, str]] = {NEW: "bold red", FIXED: "bold green"}
SECTIONS: Final[tuple[tuple[Kind, str], ...]] = (
    ("new", NEW),
    ("fixed", FIXED),
    ("still", "Still failing"),
)
"""What is grouped by cause, in the order of its worth."""
MOVED: Final[tuple[tuple[Kind, str], ...]] = (("changed", "Another verdict"), ("gone", "Not there any more"))
"""What is listed by verdicts and case."""
COLUMNS: Final[tuple[Kind, ...]] = ("new", "fixed", "still", "stale", "changed", "gone")
REST: Final[Mapping[Kind, str]] = {
    "still": "still failing",
    "changed": "with another verdict",
    "gone": "gone",
    "added": "added",
}
"""What the last line says behind the headline."""


def headline(history: History) -> str:
    """Return `3 fixed, 1 new, 0 stale`."""
    counts = history.counts
    return ", ".join(f"{counts[kind]} {kind}" for kind in ("fixed", "new", "stale"))


def warnings(history: History, names: tuple[str, str]) -> Iterator[str]:
    """Yield why the two results may not be of the same; `names` are those of the files."""
    for name, results in zip(names, (history.before, history.after), strict=True):
        why = cut(results)
        if why is not None:
            yield f"the results in {printable(name, 200)} are cut: {why}"
    one, other = history.before.header, history.after.header
    for what, was, now in (
        ("version", one.version, other.version),
        ("seed", one.seed, other.seed),
        *((each, one.selection.get(each), other.selection.get(each)) for each in _asked(one, other)),
    ):
        if was != now:
            yield f"they were made with another {what}: {_said(was)} before, {_said(now)} now"


def text(history: History, *, verbose: bool) -> Iterator[Line]:
    """Yield what is printed; `verbose` lists every case."""
    for title, own, results in _sections(history):
        yield Line(f"{title}: {counted(len(own), 'trial')}", f"{STYLES.get(title, 'bold')} underline")
        for number, cause in enumerate(reversed(causes(own)), start=1):
            yield from _cause(number, cause, results.header, verbose=verbose, only_names=title == FIXED)
        yield Line("")
    for title, own_lines in _lists(history):
        yield Line(title, "bold underline")
        shown = own_lines if verbose else own_lines[:ROWS_SHOWN]
        yield from (Line(f"   {printable(each, 300)}") for each in shown)
        if len(shown) < len(own_lines):
            yield Line(f"   … and {len(own_lines) - len(shown)} more, which `-v` lists", "dim")
        yield Line("")
    yield Line(_summary(history), "bold red" if history.counts["new"] else "bold green")


def markdown(history: History, names: tuple[str, str]) -> str:
    """Return a comment of at most `MAX_BYTES`; text from outside is in code spans and blocks only."""
    return "\n\n".join(fitting(_blocks(history, names), LEFT_OUT))


def document(history: History, names: tuple[str, str]) -> str:
    """Return one JSON document: both headers, counts, and every change; what is as it was is counted only."""
    told = {
        "before": to_json(history.before.header),
        "after": to_json(history.after.header),
        "warnings": [*warnings(history, names)],
        "counts": history.counts,
        "changes": [_change(each, history) for each in history.changes if each.kind not in ("same", "added")],
    }
    return json.dumps(told, indent=1)


def _sections(history: History) -> Iterator[tuple[str, list[TrialResult], Results]]:
    for kind, title in SECTIONS:
        own = [each.shown for each in history.of(kind)]
        if own:
            yield title, own, history.before if kind == "fixed" else history.after


def _lists(history: History) -> Iterator[tuple[str, list[str]]]:
    stale = [f"{each.shown.id}: {each.shown.known or ''}".rstrip(": ") for each in history.of("stale")]
    if stale:
        yield f"Listed as known failures, but they pass: {counted(len(stale), 'trial')}", stale
    for kind, title in MOVED:
        rows = [f"{count} {what}" for what, count in _moves(history.of(kind))]
        if rows:
            yield f"{title}: {counted(history.counts[kind], 'trial')}", rows


def _moves(changes: Sequence[Change]) -> list[tuple[str, int]]:
    """Return from which verdict to which how many trials went, by case, the most first."""
    found = Counter(f"{_moved(each)}: {each.shown.case}" for each in changes)
    return sorted(found.items(), key=lambda row: (-row[1], row[0]))


def _moved(change: Change) -> str:
    return " to ".join(each.verdict for each in (change.before, change.after) if each is not None)


def _cause(number: int, cause: Cause, header: Header, *, verbose: bool, only_names: bool) -> Iterator[Line]:
    info = header.implementations[cause.implementation]
    of = f"  [{info.impl}]" if len(header.implementations) > 1 else ""
    cases = len({failure.first.case for failure in cause.failures})
    tally = f"{counted(cases, 'case')}, {counted(cause.trials, 'trial')}{of}"
    yield Line(f"{number}. {printable(cause.what, 300)}  {printable(tally, 300)}", "bold")
    shown = cause.failures if verbose else cause.failures[:CASES_SHOWN]
    for failure in shown:
        names = ", ".join(failure.deliveries[:8]) + (", …" if len(failure.deliveries) > 8 else "")
        yield Line(f"   {failure.first.case}  {names}".rstrip())
        if only_names:
            continue
        yield from (Line(f"      {each}") for each in briefly(failure.first, failure.check))
        yield Line(f"      reproduce: {printable(reproduce(info, failure.first, header), 1000)}", "dim")
    if len(shown) < len(cause.failures):
        yield Line(f"   … and {len(cause.failures) - len(shown)} more, which `-v` lists", "dim")


def _summary(history: History) -> str:
    counts = history.counts
    more = [f"{counts[kind]} {words}" for kind, words in REST.items() if counts[kind]]
    return ", ".join((headline(history), *more))


def _blocks(history: History, names: tuple[str, str]) -> Iterator[str]:
    yield f"### streamconform: {headline(history)}"
    for why in warnings(history, names):
        yield f"> {code(why, 400)}"
    yield "\n".join(_table(history))
    for title, own, results in _sections(history):
        yield f"#### {title}"
        if title == NEW:
            yield from by_cause(own, results.header)
        else:  # what is not new is named, not told again
            rows = (_row(cause, results.header) for cause in reversed(causes(own)))
            yield "\n".join(("| trials | what | cases |", "|--:|---|---|", *rows))
    for title, lines in _lists(history):
        more = [f"- … and {len(lines) - ROWS_SHOWN} more"] if len(lines) > ROWS_SHOWN else []
        yield "\n".join(
            (f"#### {title}", "", *(f"- {code(each, 300)}" for each in lines[:ROWS_SHOWN]), *more)
        )


def _table(history: History) -> Iterator[str]:
    yield f"| implementation | {' | '.join(COLUMNS)} |"
    yield "|---|" + "--:|" * len(COLUMNS)
    names = called(history.after.header)
    rows = [(name, Counter[Kind]()) for name in names]
    back = {old: new for new, old in history.pairs.items()}
    left = Counter[Kind]()
    for each in history.changes:
        at = -1
        if each.after is not None:
            at = each.after.implementation
        elif each.before is not None:
            at = back.get(each.before.implementation, -1)
        (rows[at][1] if at >= 0 else left)[each.kind] += 1
    if left:
        rows.append(("not judged any more", left))
    for name, counts in rows[:ROWS_SHOWN]:
        yield f"| {cell(name)} | {' | '.join(str(counts[kind]) for kind in COLUMNS)} |"


def _row(cause: Cause, header: Header) -> str:
    cases = list(dict.fromkeys(failure.first.case for failure in cause.failures))
    more = f" and {len(cases) - CASES_SHOWN} more" if len(cases) > CASES_SHOWN else ""
    of = f" {cell(called(header)[cause.implementation])}" if len(header.implementations) > 1 else ""
    shown = ", ".join(cell(each, 200) for each in cases[:CASES_SHOWN])
    return f"| {cause.trials} | {cell(cause.what, 200)}{of} | {shown}{more} |"


def _change(change: Change, history: History) -> dict[str, Any]:
    results = history.after if change.after is not None else history.before
    side = change.after or change.before
    assert side is not None, "a change has a side"
    info = results.header.implementations[side.implementation]
    return {
        "kind": change.kind,
        "implementation": info.impl,
        "id": side.id,
        "before": change.before and change.before.verdict,
        "after": change.after and change.after.verdict,
        "reason": side.reason,
        "checks": [check_to_json(each) for each in change.shown.checks],
    }


def _asked(one: Header, other: Header) -> list[str]:
    names = {*one.selection, *other.selection}
    return sorted(
        names & {"select", "api", "profile", "level", "deliver", "faults", "shard", "specs", "cassettes"}
    )


def _said(value: Any) -> str:
    return "none" if value in (None, (), []) else printable(json.dumps(value), 100)
