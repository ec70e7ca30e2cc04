"""Reports on a run, each created from `results.jsonl`.

The results include the title and the guarded bugs of every trial that did not pass, so most reports need
nothing else; only the HTML page, the matrix and the scores also read the suite.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from streamconform.errors import ReportError, UsageError
from streamconform.files import write_atomically
from streamconform.run.merge import sort_trials
from streamconform.run.results import Results
from streamconform.suggestions import suggest

if TYPE_CHECKING:
    from streamconform.reports.matrix import PageContext

__all__ = [
    "HTML",
    "REPORTS",
    "STREAMED",
    "SUITE_REPORTS",
    "parse_option",
    "render",
    "write_report",
    "write_text",
]

REPORTS: Final = ("json", "junit", "markdown", "github", "badge")
"""The kinds of report that need only the results. Each is a module of this package with a function
`render(results)`.

A module is imported only when it renders: a run without reports needs none of them.
"""

HTML: Final = "html"
"""The kind of report that can also show changes since an earlier run."""
SUITE_REPORTS: Final = (HTML, "matrix", "scores")
"""The kinds that also read the suite."""
STREAMED: Final = "jsonl"
"""The kind of report that is written during a run: the results file."""


def parse_option(option: str) -> tuple[str, str]:
    """Parse `KIND=PATH` and return (kind, path). Raises `UsageError`."""
    kind, equals, path = option.partition("=")
    kinds = (*REPORTS, *SUITE_REPORTS, STREAMED)
    if kind not in kinds or not equals or not path:
        known = ", ".join(f"`{name}`" for name in kinds)
        raise UsageError(
            f"`--report {option}`: expected KIND=PATH, where KIND is one of {known} and PATH may be `-`"
            f"{suggest(kind, kinds)}"
        )
    return kind, path


def write_report(
    kind: str,
    path: str,
    results: Results,
    page_context: Callable[[str], PageContext],
    baseline: Results | None = None,
) -> None:
    """Write a report of the given `kind` on `results` to `path`; `-` is stdout. Raises `ReportError`.

    `page_context` returns what a page at a given path needs besides the results; only some reports call it.
    `baseline` is an earlier run, for the report that shows what changed.
    """
    sorted_results = sort_trials(results)
    match kind:
        case "matrix" | "scores":
            text = _load_renderer(kind)(sorted_results, page_context(path))
        case "html":
            text = _load_renderer(kind)(sorted_results, baseline)
        case _:
            text = render(kind, sorted_results)
    write_text(path, text)


def render(kind: str, results: Results) -> str:
    """Return the text of a report in `REPORTS`, or of the results file for `STREAMED`."""
    if kind == STREAMED:
        from streamconform.reports.json import render_lines

        return render_lines(results)
    return _load_renderer(kind)(results)


def _load_renderer(kind: str) -> Callable[..., str]:
    """Import the module for the report `kind` and return its `render` function."""
    renderer: Callable[..., str] = import_module(f"{__name__}.{kind}").render
    return renderer


def write_text(path: str, text: str) -> None:
    """Write `text` and a newline to `path`, entirely or not at all; `-` is stdout. Raises `ReportError`.

    A path that exists and is not a regular file, such as a pipe or `/dev/null`, is written to, not replaced.
    """
    # An implementation's answer may contain lone surrogates, which have no UTF-8.
    data = f"{text}\n".encode("utf-8", "backslashreplace")
    if path == "-":
        # Text printed earlier may still be in `sys.stdout`'s own buffer, and comes first.
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
            write_atomically(target, data)
    except OSError as error:
        raise ReportError(f"`{path}` cannot be written: {error.strerror}") from error
