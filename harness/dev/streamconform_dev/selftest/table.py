"""Format the kill matrix: one row per mutant, and the cases that catch no mutant. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from streamconform.suite.threads import Thread
from streamconform_dev.selftest.kill import MutantResult

if TYPE_CHECKING:
    from streamconform_mutants import Mutant

HEAD = """\
# Mutants and the cases that catch them

`conform dev selftest --table PATH` writes this page. It runs the suite against mutants: parsers and request
builders that each have one real bug. A mutant must fail, and only because of that bug. To see a mutant's
failures, use `conform run --impl mutant:NAME`. [Innocents](innocents.md) are the other half: they show that
no case punishes a freedom.
"""
MAX_LISTED = 3
"""The maximum number of threads and of cases listed per row; the others are only counted."""


def format_table(
    rows: Sequence[MutantResult],
    mutants: Mapping[str, Mutant],
    threads: Mapping[str, Thread],
    idle_cases: Sequence[str],
) -> str:
    """Return the page; a bug is reported by the threads of its kind and of an API that the mutant reads."""
    return "\n".join(_iter_lines(rows, mutants, threads, idle_cases)) + "\n"


def _iter_lines(
    rows: Sequence[MutantResult],
    mutants: Mapping[str, Mutant],
    threads: Mapping[str, Thread],
    idle_cases: Sequence[str],
) -> Iterator[str]:
    killed = sum(row.killed for row in rows)
    yield HEAD
    yield f"{killed} of {len(rows)} mutants are caught, each only by checks related to its own bug."
    yield ""
    yield "| mutant | bug | kind | reported | cases that catch it |"
    yield "|---|---|---|---|---|"
    for row in rows:
        mutant = mutants[row.name]
        reported = [name for name, thread in threads.items() if _is_about(thread, mutant)]
        cells = (f"`{row.name}`", mutant.bug, mutant.kind, _shorten(reported), _format_cases(row))
        yield f"| {' | '.join(cells)} |"
    yield ""
    by_topic = Counter(case.rpartition("/")[0] for case in idle_cases)
    count = f"{len(idle_cases)} cases"
    yield f"{count} catch no mutant on an unbroken stream; their specs state their purpose:"
    yield ""
    yield "| topic | cases |"
    yield "|---|---|"
    yield from (f"| `{topic}` | {count} |" for topic, count in by_topic.items())


def _is_about(thread: Thread, mutant: Mutant) -> bool:
    shared = not mutant.adapter.apis or not {*mutant.adapter.apis}.isdisjoint(thread.apis)
    return mutant.kind in thread.kinds and shared


def _format_cases(row: MutantResult) -> str:
    return _shorten([f"`{case}`" for case in row.cases]) or "none: it survives"


def _shorten(names: Sequence[str]) -> str:
    more = len(names) - MAX_LISTED
    return ", ".join(names[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")
