"""Reports of a run; each is a projection of `results.jsonl`.

Titles and guarded bugs of trials that did not pass are in the results, so that a report needs nothing else;
only the HTML page and the matrix also read the suite.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from streamconform.errors import ReportError, UsageError
from streamconform.reports import badge, github, html, json, junit, markdown, matrix
from streamconform.reports.matrix import PageContext
from streamconform.run.merge import ordered
from streamconform.run.results import Results
from streamconform.suite.cassettes import write_whole

__all__ = ["HTML", "REPORTS", "STREAMED", "SUITE_REPORTS", "parse_option", "write_report", "write_text"]

Render = Callable[[Results], str]

REPORTS: Final[Mapping[str, Render]] = {
    "json": json.render,
    "junit": junit.render,
    "markdown": markdown.render,
    "github": github.render,
    "badge": badge.render,
}
"""The kinds that need only the results, with the function that renders each."""

HTML: Final = "html"
"""The kind that can also show what changed since an earlier run."""
SUITE_REPORTS: Final = (HTML, "matrix")
"""The kinds that also show the suite."""
STREAMED: Final = "jsonl"
"""The kind that is written during the run: the results themselves."""


def parse_option(option: str) -> tuple[str, str]:
    """Return (kind, path) of `KIND=PATH`; raises `UsageError`."""
    kind, equals, path = option.partition("=")
    kinds = (*REPORTS, *SUITE_REPORTS, STREAMED)
    if kind not in kinds or not equals or not path:
        known = ", ".join(f"`{name}`" for name in kinds)
        raise UsageError(
            f"`--report {option}`: expected KIND=PATH, where KIND is one of {known} and PATH may be `-`"
        )
    return kind, path


def write_report(
    kind: str,
    path: str,
    results: Results,
    page_context: Callable[[str], PageContext],
    baseline: Results | None = None,
) -> None:
    """Write the report `kind` of `results` to `path`; `-` is stdout. Raises `ReportError`.

    `page_context` returns what the matrix page at a path needs besides results; it is called only by reports
    that need it. `baseline` is an earlier run, for the report that shows what changed.
    """
    sorted_results = ordered(results)
    match kind:
        case "matrix":
            text = matrix.render(sorted_results, page_context(path))
        case "html":
            text = html.render(sorted_results, baseline)
        case _:
            text = REPORTS[kind](sorted_results)
    write_text(path, text)


def write_text(path: str, text: str) -> None:
    """Write `text` and a line end to `path`, all of it or nothing; `-` is stdout. Raises `ReportError`.

    A path that exists and is not a regular file, such as a pipe or `/dev/null`, is written to, not replaced.
    """
    data = f"{text}\n".encode("utf-8", "backslashreplace")
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)  # a report is UTF-8, whatever the terminal's encoding
        sys.stdout.buffer.flush()
        return
    try:
        target = Path(path).resolve()  # so that a symbolic link is kept and its target replaced
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            write_whole(target, data)
    except OSError as error:
        raise ReportError(f"`{path}` cannot be written: {error.strerror}") from error
