"""The kill matrix as a page: a row for each mutant, and how many cases catch none. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from streamconform.tools.selftest.kill import Killed

HEAD = """\
# The broken parsers, and the cases that catch them

`conform selftest --table PATH` judges the suite with parsers, and builders of requests, of which each has
one real bug, and writes this page. A mutant has to fail, and only where it is broken; `conform run --impl
mutant:NAME` shows any of them.
"""
CASES_NAMED = 3
"""Cases named in a row; the rest is a number."""


def table(rows: Sequence[Killed], bugs: Mapping[str, tuple[str, Sequence[str]]], idle: Sequence[str]) -> str:
    """Return the document; `bugs` has for each mutant what it does wrong and where that was reported."""
    return "\n".join(_lines(rows, bugs, idle)) + "\n"


def _lines(
    rows: Sequence[Killed], bugs: Mapping[str, tuple[str, Sequence[str]]], idle: Sequence[str]
) -> Iterator[str]:
    dead = sum(row.dead for row in rows)
    yield HEAD
    yield f"{dead} of {len(rows)} mutants are caught, each only where it is broken."
    yield ""
    yield "| mutant | what it does wrong | reported | cases that catch it |"
    yield "|---|---|---|---|"
    for row in rows:
        bug, issues = bugs[row.name]
        yield f"| `{row.name}` | {bug} | {', '.join(issues)} | {_cases(row)} |"
    yield ""
    by_topic = Counter(case.rpartition("/")[0] for case in idle)
    yield f"{len(idle)} cases catch no mutant by what they expect; each says in its spec what it is for:"
    yield ""
    yield "| topic | cases |"
    yield "|---|---|"
    yield from (f"| `{topic}` | {count} |" for topic, count in by_topic.items())


def _cases(row: Killed) -> str:
    named = ", ".join(f"`{case}`" for case in row.cases[:CASES_NAMED])
    more = len(row.cases) - CASES_NAMED
    return f"{named} and {more} more" if more > 0 else named or "none: it survives"
