"""Format the kill matrix: one row per mutant, and the cases that catch no mutant. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from streamconform_dev.selftest.kill import MutantResult

HEAD = """\
# Mutants and the cases that catch them

`conform dev selftest --table PATH` writes this page. It runs the suite against mutants: parsers and request
builders that each have one real bug. A mutant must fail, and only because of that bug. To see a mutant's
failures, use `conform run --impl mutant:NAME`. [Innocents](innocents.md) are the other half: they show that
no case punishes a freedom.
"""
MAX_CASES = 3
"""The maximum number of cases listed per row; the others are only counted."""


def format_table(
    rows: Sequence[MutantResult], bugs: Mapping[str, tuple[str, Sequence[str]]], idle_cases: Sequence[str]
) -> str:
    """Return the page; `bugs` maps each mutant to its description and the issues that report the bug."""
    return "\n".join(_iter_lines(rows, bugs, idle_cases)) + "\n"


def _iter_lines(
    rows: Sequence[MutantResult], bugs: Mapping[str, tuple[str, Sequence[str]]], idle_cases: Sequence[str]
) -> Iterator[str]:
    killed = sum(row.killed for row in rows)
    yield HEAD
    yield f"{killed} of {len(rows)} mutants are caught, each only by checks related to its own bug."
    yield ""
    yield "| mutant | bug | reported | cases that catch it |"
    yield "|---|---|---|---|"
    for row in rows:
        bug, issues = bugs[row.name]
        yield f"| `{row.name}` | {bug} | {', '.join(issues)} | {_format_cases(row)} |"
    yield ""
    by_topic = Counter(case.rpartition("/")[0] for case in idle_cases)
    count = f"{len(idle_cases)} cases"
    yield f"{count} catch no mutant on an unbroken stream; their specs state their purpose:"
    yield ""
    yield "| topic | cases |"
    yield "|---|---|"
    yield from (f"| `{topic}` | {count} |" for topic, count in by_topic.items())


def _format_cases(row: MutantResult) -> str:
    listed = ", ".join(f"`{case}`" for case in row.cases[:MAX_CASES])
    more = len(row.cases) - MAX_CASES
    return f"{listed} and {more} more" if more > 0 else listed or "none: it survives"
