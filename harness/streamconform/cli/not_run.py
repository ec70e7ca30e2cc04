"""The lines printed after `--budget` is spent: the trials that did not run, and how to run them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform.cli import options
from streamconform.plural import format_count
from streamconform.run.session import FinishedRun

MAX_PLACES: Final = 10
"""The maximum number of APIs, or of topics of the only API, to list; the rest are counted."""


def describe_not_run(finished: FinishedRun, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the number of trials for which the budget left no time, and the command that runs them.

    Yields nothing if there are none. `arguments` are the command-line arguments.
    """
    if not finished.not_run:
        return
    cases = [id_.partition("@")[0] for id_ in finished.not_run]
    trials = format_count(len(cases), "trial")
    yield f"Not run: {trials} of {format_count(len(set(cases)), 'case')}: {_list_places(cases)}"
    # Such a run cannot be resumed: its trials come from the results of an earlier one.
    if not finished.results.header.selection.get("last_failed"):
        yield f"next: {_format_resume_command(arguments)}"


def _list_places(cases: list[str]) -> str:
    """Return the number of trials per API, or per topic if they are of one API; most trials first."""
    apis = Counter(case.partition("/")[0] for case in cases)
    places = apis if len(apis) > 1 else Counter(case.rpartition("/")[0] for case in cases)
    ordered = sorted(places.items(), key=lambda item: (-item[1], item[0]))
    listed = [f"{place} {count:,}" for place, count in ordered[:MAX_PLACES]]
    more = len(ordered) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more else "")


def _format_resume_command(arguments: Mapping[str, Any]) -> str:
    # Without this option, the results would be looked for in the latest run's folder.
    path = options.find_results_path(arguments["report"])
    return shlex.join(("conform", "run", "--resume", *(("--report", f"jsonl={path}") if path else ())))
