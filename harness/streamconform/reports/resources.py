"""The memory and the time that clients used for huge streams, as a table; they are never judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from streamconform.printable import escape_line
from streamconform.reports.describe import name_implementations
from streamconform.run.results import Results

TITLE: Final = "Memory and time of the client (not judged)"
COLUMNS: Final = ("stream", "memory", "CPU", "elapsed", "verdict", "case")
_MIB: Final = 1 << 20


class ResourceRow(NamedTuple):
    """A trial's row, as text."""

    stream: str
    memory: str
    """The peak of the client's resident memory, with what it had before."""
    cpu: str
    elapsed: str
    verdict: str
    case: str


def list_resources(results: Results) -> tuple[ResourceRow, ...]:
    """Return a row per trial whose resources were measured, in the order of the run."""
    names = name_implementations(results.header)
    return tuple(
        ResourceRow(
            f"{used.stream / _MIB:.1f} MiB",
            "-" if used.memory is None else f"{used.memory / _MIB:,.0f} MiB",
            "-" if used.cpu_ms is None else f"{used.cpu_ms / 1000:.2f} s",
            f"{trial.ms / 1000:.2f} s",
            trial.verdict,
            escape_line(
                f"{trial.case}  [{names[trial.implementation]}]" if len(names) > 1 else trial.case, 200
            ),
        )
        for trial in results.trials
        if (used := trial.resources) is not None
    )


def format_resources(results: Results) -> tuple[str, ...]:
    """Return the lines of the table, the first of them its head; none if there are no rows."""
    rows = list_resources(results)
    return tuple(_align(rows)) if rows else ()


def _align(rows: tuple[ResourceRow, ...]) -> Iterator[str]:
    *widths, _ = (max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True))
    for row in (COLUMNS, *rows):
        *numbers, verdict, case = row
        cells = "  ".join(f"{text:>{width}}" for text, width in zip(numbers, widths, strict=False))
        yield f"  {cells}  {verdict:<{widths[-1]}}  {case}"
