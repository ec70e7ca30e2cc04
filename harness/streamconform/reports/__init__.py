"""Renderings of a run; each is a projection of `results.jsonl`. The table of reports is here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from streamconform.errors import ReportError, UsageError
from streamconform.run.merge import ordered
from streamconform.run.results import Results
from streamconform.suite.cassettes import write_atomically

if TYPE_CHECKING:
    from streamconform.reports.matrix import Place

REPORTS: Final = ("json", "junit", "markdown", "github", "badge")
"""The kinds that are made of complete results and nothing else: each is a module here with `render(results)`.

Modules are imported when they render: a run without reports needs none of them.
"""

HTML: Final = "html"
"""The kind that shows cases and wires too, and what changed since an earlier run."""
SUITED: Final = (HTML, "matrix")
"""The kinds that show the suite beside the results."""
STREAMED: Final = "jsonl"
"""The kind that is written while the run goes on: the results themselves."""


def parse(option: str) -> tuple[str, str]:
    """Return (kind, path) of `KIND=PATH`; raises `UsageError`."""
    kind, equals, path = option.partition("=")
    known = (*REPORTS, *SUITED, STREAMED)
    if kind not in known or not equals or not path:
        kinds = ", ".join(f"`{each}`" for each in known)
        raise UsageError(
            f"`--report {option}`: expected KIND=PATH, where KIND is {kinds} and PATH may be `-`"
        )
    return kind, path


def write(
    kind: str, path: str, results: Results, place: Callable[[str], Place], baseline: Results | None = None
) -> None:
    """Write the report `kind` of `results` to `path`; `-` is stdout. Raises `ReportError`.

    `place` returns what a page at a path is made with; a kind that needs nothing of it does not ask.
    `baseline` is an earlier run, for the kind that tells what changed.
    """
    whole = ordered(results)
    match kind:
        case "matrix":
            text = renderer(kind)(whole, place(path))
        case "html":
            text = renderer(kind)(whole, baseline)
        case _:
            text = renderer(kind)(whole)
    write_text(path, text)


def renderer(kind: str) -> Callable[..., str]:
    """Return the function `render` of the module that makes reports of this kind."""
    render: Callable[..., str] = import_module(f"{__name__}.{kind}").render
    return render


def write_text(path: str, text: str) -> None:
    """Write `text` and a line end to `path`, all of it or nothing; `-` is stdout. Raises `ReportError`.

    What is no file, such as a pipe or `/dev/null`, is written to as it stands: nothing replaces it.
    """
    data = f"{text}\n".encode("utf-8", "backslashreplace")
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)  # a report is UTF-8, whatever the terminal takes
        sys.stdout.buffer.flush()
        return
    try:
        target = Path(path).resolve()  # a link stays one
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            write_atomically(target, data)
    except OSError as error:
        raise ReportError(f"`{path}` cannot be written: {error.strerror}") from error
