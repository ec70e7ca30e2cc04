"""Format a comparison as Markdown and for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from streamconform.plural import format_count
from streamconform_capture.compare.comparison import Comparison, format_summary
from streamconform_capture.compare.findings import ABOUT, Finding
from streamconform_capture.compare.part import Cause


def format_markdown(comparison: Comparison, *, text: bool) -> str:
    """Return the comparison as Markdown; without `text`, it contains no recorded text."""
    return "\n".join(_markdown(comparison, text=text))


def format_lines(comparison: Comparison, *, text: bool) -> Iterator[str]:
    """Yield the lines of the comparison; the last one is the summary."""
    yield from _table(comparison)
    for about, group in groupby(comparison.found.causes, key=lambda cause: cause.about):
        yield ""
        yield ABOUT[about]
        for cause in group:
            yield f"  {comparison.who(cause)}: {cause.what}"
            yield f"      {_extent(cause)}"
            for example in cause.examples:
                yield f"      {_place(example)}"
                if text:
                    yield from (f"          {each}" for each in example.words)
                if example in comparison.minimised:
                    yield f"          minimised: {comparison.minimised[example]}"
    yield ""
    for unread in comparison.found.unread:
        yield f"not read: {unread.recordings} of {unread.api}: {unread.reason}"
        yield from (f"    {file}" for file in unread.files)
        if unread.recordings > len(unread.files):
            yield f"    and {unread.recordings - len(unread.files):,} more"
    for (index, reason), count in comparison.found.skipped.items():
        yield f"not run: {format_count(count, 'trial')} of {comparison.name(index)}: {reason}"
    yield format_summary(comparison)


def _table(comparison: Comparison) -> Iterator[str]:
    head = ("api", "status", "reason", *(each.impl for each in comparison.implementations))
    rows = [
        head,
        *(
            (api, status, reason, *(f"{n:,}" for n in counts))
            for api, status, reason, counts in comparison.list_endings()
        ),
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:3], widths, strict=False)]
        right = [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
        yield f"  {'  '.join([*left, *right])}".rstrip()


def _markdown(comparison: Comparison, *, text: bool) -> Iterator[str]:
    found = comparison.found
    yield "# Implementations over recordings"
    yield ""
    yield (
        f"{format_summary(comparison)}. Deliveries: {', '.join(comparison.deliveries)}; "
        f"seed {comparison.seed}."
    )
    yield ""
    yield from _rows(
        ("implementation", "name", "version", "language"),
        (
            (each.impl, each.name, each.version or "", each.language or "")
            for each in comparison.implementations
        ),
    )
    yield "## How the recordings end"
    yield ""
    names = (each.impl for each in comparison.implementations)
    endings = ((*words, *map(str, counts)) for *words, counts in comparison.list_endings())
    yield from _rows(("api", "status", "reason", *names), endings)
    for about, group in groupby(found.causes, key=lambda cause: cause.about):
        yield f"## {ABOUT[about]}"
        yield ""
        for cause in group:
            yield f"- {comparison.who(cause)}: {_plain(cause.what)}: {_extent(cause)}"
            for example in cause.examples:
                yield f"  - `{_place(example)}`"
                if text:
                    yield from (f"    - {_plain(each)}" for each in example.words)
        yield ""
    if found.unread or found.skipped:
        yield "## Not compared"
        yield ""
        unread = ((each.api, each.reason, str(each.recordings)) for each in found.unread)
        skipped = ((comparison.name(i), reason, f"{n} trials") for (i, reason), n in found.skipped.items())
        yield from _rows(("api or implementation", "reason", "count"), (*unread, *skipped))


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_cell, head))} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(given: str) -> str:
    return _plain(given).replace("|", "\\|")


def _plain(given: str) -> str:
    """Return the text escaped so that Markdown shows it unchanged."""
    return "".join(f"\\{c}" if c in "\\`*_<>[]" else c for c in given.replace("\n", " "))


def _place(example: Finding) -> str:
    return f"{example.file}@{example.delivery}{f' {example.path}' if example.path else ''}"


def _extent(cause: Cause) -> str:
    extent = f"{format_count(cause.recordings, 'recording')}, {format_count(cause.trials, 'trial')}"
    return f"{extent}; harm: {cause.harm}" if cause.harm else extent
