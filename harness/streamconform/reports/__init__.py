"""Renderings of a run; each is a projection of `results.jsonl`. The table of reports is here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from streamconform.errors import ReportError, UsageError
from streamconform.reports import json
from streamconform.run.results import Results

Render = Callable[[Results], str]

REPORTS: Final[Mapping[str, Render]] = {
    "json": json.render,
}
"""What `--report KIND=PATH` can make of results that are there as a whole."""

STREAMED: Final = "jsonl"
"""The kind that is written while the run goes on: the results themselves."""


def parse(option: str) -> tuple[str, str]:
    """Return (kind, path) of `KIND=PATH`; raises `UsageError`."""
    kind, equals, path = option.partition("=")
    known = (*REPORTS, STREAMED)
    if kind not in known or not equals or not path:
        kinds = ", ".join(f"`{each}`" for each in known)
        raise UsageError(
            f"`--report {option}`: expected KIND=PATH, where KIND is {kinds} and PATH may be `-`"
        )
    return kind, path


def write(kind: str, path: str, results: Results) -> None:
    """Write the report `kind` of `results` to `path`; `-` is stdout. Raises `ReportError`."""
    write_text(path, REPORTS[kind](results))


def write_text(path: str, text: str) -> None:
    """Write `text` and a line end to `path`; `-` is stdout. Raises `ReportError`."""
    if path == "-":
        sys.stdout.write(text + "\n")
        return
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise ReportError(f"`{path}` cannot be written: {error.strerror}") from error
