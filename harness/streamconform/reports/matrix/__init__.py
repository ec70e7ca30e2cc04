"""The matrix: implementations against capabilities, one page in Markdown for whoever chooses a library.

The summary comes first, then a table an api, then what fails of each implementation. Everything that came
from outside is a code span, or a link target of a harmless form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from streamconform.apis import APIS
from streamconform.model.result import Header
from streamconform.reports.markdown import cell, code
from streamconform.reports.matrix.failing import Caps, section
from streamconform.reports.matrix.place import Place, slug
from streamconform.reports.matrix.score import COLUMNS, FRAMING, TRUNCATION, Row, Score, rows
from streamconform.reports.words import called, cut
from streamconform.run.results import Results
from streamconform.suite.load import COMMON

__all__ = ["MAX_BYTES", "Place", "render"]

MAX_BYTES: Final = 400_000
"""A page of GitHub's is shown as one up to 512 kB."""
CAPS: Final = (Caps(60, 25), Caps(40, 15), Caps(30, 10), Caps(20, 5), Caps(10, 2), Caps(3, 1))
"""How much of the lists is shown: the first that makes the page short enough."""
LEFT_OUT: Final = "_The rest does not fit here; `conform report terminal` prints all of it._"
LEGEND: Final = """\
A cell is **passed/judged**, counted in cases; it links to what fails, where anything does. `-` is a
capability that the implementation does not claim, an empty cell one that no case is about. *warn* counts
passes that differ where the provider's words leave room, *skipped* cases that need what is not claimed.

A case is judged as it was recorded. Where it passes, `framing` also counts it once for all its other
deliveries (in one piece, byte by byte, with comments, with fields that nobody knows yet), and `truncation`
once for its stream broken off, reset, or ended by an error. What is known to fail fails here too."""


def render(results: Results, place: Place) -> str:
    """Return the page, at most `MAX_BYTES` long; it says so where something is left out."""
    found = rows(results, place.suite)
    text = ""
    for caps in CAPS:
        text = "\n\n".join(_blocks(results, place, found, caps))
        if len(text.encode()) <= MAX_BYTES:
            return text
    kept = text.encode()[: MAX_BYTES - len(LEFT_OUT) - 2].decode("utf-8", "ignore")
    return "\n\n".join((kept.rpartition("\n\n")[0], LEFT_OUT))


def _blocks(results: Results, place: Place, found: Sequence[Row], caps: Caps) -> Iterator[str]:
    header = results.header
    anchors = _anchors(header)
    yield "# Matrix: which implementations read streamed answers as they are sent"
    day = f", on {code(header.date)}" if header.date else ""
    yield f"{_counted(found)}, judged by streamconform {code(header.version)}{day}."
    why = cut(results)
    if why is not None:
        yield f"> **These results are cut**: {why}. What did not run is not judged."
    unknown = {each.case for each in results.trials} - set(place.suite)
    if unknown:
        yield f"> {len(unknown)} cases are not in this version of the suite: they are in no column of a tag."
    yield LEGEND
    yield "## Summary"
    yield "\n".join(_summary(header, found, anchors))
    for api in _apis(found):
        yield f"## {code(api)}" if api not in (*APIS, COMMON) else f"## {api}"
        yield "\n".join(_table(header, [row for row in found if row.api == api], anchors))
    for at, anchor in enumerate(anchors):
        own = [row for row in found if row.implementation == at]
        if own:
            yield from section(header, own, place, anchor, caps)


def _counted(found: Sequence[Row]) -> str:
    implementations = len({row.implementation for row in found})
    apis = len({row.api for row in found if row.api != COMMON})
    what = "implementation" if implementations == 1 else "implementations"
    return f"{implementations} {what} of {apis} {'api' if apis == 1 else 'apis'}"


def _apis(found: Iterable[Row]) -> list[str]:
    there = {row.api for row in found}
    return [*(api for api in (*APIS, COMMON) if api in there), *sorted(there - {*APIS, COMMON})]


def _summary(header: Header, found: Sequence[Row], anchors: Sequence[str]) -> Iterator[str]:
    """Yield the table of implementations and apis; its last columns are those that no tag is needed for."""
    apis = _apis(found)
    beside = [name for name in (FRAMING, TRUNCATION) if any(name in row.columns for row in found)]
    yield f"| implementation | {' | '.join([cell(each) for each in apis] + beside)} |"
    yield "|---|" + "--:|" * (len(apis) + len(beside))
    for at, name in enumerate(_named(header, anchors)):
        own = {row.api: row for row in found if row.implementation == at}
        if own:
            cells = [
                _cell(own[api].cases, f"{anchors[at]}-{slug(api)}") if api in own else "" for api in apis
            ]
            for column in beside:
                parts = [row.columns[column] for row in own.values() if column in row.columns]
                cells.append(_cell(_sum(parts), anchors[at]))
            yield f"| {name} | {' | '.join(cells)} |"


def _table(header: Header, own: Sequence[Row], anchors: Sequence[str]) -> Iterator[str]:
    columns = [name for name in COLUMNS if any(name in row.columns for row in own)]
    yield f"| implementation | cases | {' | '.join(COLUMNS[name] for name in columns)} |"
    yield "|---|" + "--:|" * (len(columns) + 1)
    names = _named(header, anchors)
    for row in own:
        anchor = f"{anchors[row.implementation]}-{slug(row.api)}"
        scores = [row.cases, *(row.columns.get(name, Score()) for name in columns)]
        yield f"| {names[row.implementation]} | {' | '.join(_cell(each, anchor) for each in scores)} |"


def _cell(score: Score, anchor: str) -> str:
    if not score.judged:
        return "-" if score.skipped else ""
    tally = f"{score.passed}/{score.judged}"
    told = [f"{n} {word}" for n, word in ((score.warned, "warn"), (score.skipped, "skipped")) if n]
    beside = f"<br><sub>{', '.join(told)}</sub>" if told else ""
    return (f"[{tally}](#{anchor})" if score.failed else tally) + beside


def _sum(scores: Iterable[Score]) -> Score:
    every = list(scores)
    names = ("passed", "failed", "warned", "skipped")
    return Score(**{name: sum(getattr(each, name) for each in every) for name in names})


def _named(header: Header, anchors: Sequence[str]) -> list[str]:
    """Return the implementations as cells, each a link to its section, with the release."""
    return [
        f"[{cell(name)}](#{anchor}){f' {cell(info.version, 40)}' if info.version else ''}"
        for name, anchor, info in zip(called(header), anchors, header.implementations, strict=True)
    ]


def _anchors(header: Header) -> tuple[str, ...]:
    """Return what links to each section name, which no other section or api is called."""
    found: list[str] = []
    for number, name in enumerate(called(header)):
        anchor = f"of-{slug(name)}"
        found.append(f"{anchor}-{number}" if anchor in found else anchor)
    return tuple(found)
