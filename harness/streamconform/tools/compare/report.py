"""Format a comparison as Markdown and for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from streamconform.tools.compare.comparison import (
    Comparison,
    count_unread,
    describe_place,
    format_summary,
    format_title,
    select_examples,
)
from streamconform.tools.compare.gather import ABOUT, DifferenceCause


def format_markdown(found: Comparison, *, text: bool) -> str:
    """Return the comparison as Markdown; without `text`, it contains no recorded text."""
    return "\n".join(_markdown(found, text=text))


def format_lines(found: Comparison, *, text: bool) -> Iterator[str]:
    """Yield the lines of the comparison; the last one is the summary."""
    yield from _table(found)
    for about, group in groupby(found.causes, key=lambda cause: cause.about):
        yield ""
        yield ABOUT[about]
        for cause in group:
            yield f"  {found.who(cause)}  {format_title(cause)}  {_extent(cause)}"
            for place, more in select_examples(cause, found.examples):
                where = f" {place.path}" if place.path else ""
                yield f"      {place.file}@{place.delivery}{where}{_more(more)}"
                if text:
                    yield from (f"          {each}" for each in describe_place(place))
    yield ""
    for (api, reason), count in count_unread(found.unread).items():
        yield f"not read: {count} of {api}: {reason}"
    for (index, reason), count in found.skipped.items():
        yield f"not asked: {count} trials of {found.name(index)}: {reason}"
    yield format_summary(found)


def _table(found: Comparison) -> Iterator[str]:
    head = ("api", "status", "reason", *(each.impl for each in found.implementations))
    rows = [head, *((row.api, row.status, row.reason, *map(str, row.counts)) for row in found.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:3], widths, strict=False)]
        right = [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
        yield f"  {'  '.join([*left, *right])}".rstrip()


def _markdown(found: Comparison, *, text: bool) -> Iterator[str]:
    yield "# Implementations over recordings"
    yield ""
    yield f"{format_summary(found)}. Deliveries: {', '.join(found.deliveries)}; seed {found.seed}."
    yield ""
    yield from _rows(
        ("implementation", "name", "version", "language"),
        ((each.impl, each.name, each.version or "", each.language or "") for each in found.implementations),
    )
    yield "## How the recordings end"
    yield ""
    names = (each.impl for each in found.implementations)
    counts = ((row.api, row.status, row.reason, *map(str, row.counts)) for row in found.rows)
    yield from _rows(("api", "status", "reason", *names), counts)
    for about, group in groupby(found.causes, key=lambda cause: cause.about):
        yield f"## {ABOUT[about]}"
        yield ""
        for cause in group:
            yield f"- {found.who(cause)}, `{format_title(cause)}`: {_extent(cause)}"
            for place, more in select_examples(cause, found.examples):
                where = f" `{place.path}`" if place.path else ""
                yield f"  - `{place.file}@{place.delivery}`{where}{_more(more)}"
                if text:
                    yield from (f"    - {_plain(each)}" for each in describe_place(place))
        yield ""
    if found.unread or found.skipped:
        yield "## Not compared"
        yield ""
        refusals = ((api, reason, str(count)) for (api, reason), count in count_unread(found.unread).items())
        left = ((found.name(i), reason, f"{n} trials") for (i, reason), n in found.skipped.items())
        yield from _rows(("api or implementation", "reason", "count"), (*refusals, *left))


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_cell, head))} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(given: str) -> str:
    return _plain(given).replace("|", "\\|")


def _plain(given: str) -> str:
    """Return text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "\\`*_<>[]" else c for c in given.replace("\n", " "))


def _extent(cause: DifferenceCause) -> str:
    trials = len({(place.file, place.delivery) for place in cause.places})
    count = len(cause.files)
    return f"{count} recording{'' if count == 1 else 's'}, {trials} trial{'' if trials == 1 else 's'}"


def _more(count: int) -> str:
    return f" and {count} more" if count else ""
