"""What a run of a declaration shows: its profile, its level, and the harm of the known failures. Pure."""

from __future__ import annotations

from streamconform.causes.harms import SERIOUS, count_harms, format_bugs
from streamconform.causes.table import HARMS, Harm
from streamconform.reports.causes import group_by_cause
from streamconform.run.results import Results


def is_declared(results: Results) -> bool:
    """Return whether the run was about a declaration."""
    return bool(results.header.selection.get("declared"))


def describe_declared(results: Results, most: int = len(HARMS)) -> str:
    """Return `core-2026.2, must: 1 bug: bills incorrectly (1)`; harms after the first `most` are counted."""
    selection = results.header.selection
    level = "should" if selection.get("strict") else "must"
    return f"{selection.get('profile')}, {level}: {format_bugs(_count_known(results), most)}"


def choose_declared_color(results: Results) -> str:
    """Return the color of a declaration that holds: amber if it declares something serious."""
    known = _count_known(results)
    return "orange" if SERIOUS & known.keys() else "yellowgreen" if known else "brightgreen"


def _count_known(results: Results) -> dict[Harm | None, int]:
    """Return the number of distinct causes among the known failures, by harm."""
    causes = group_by_cause(trial for trial in results.trials if trial.verdict == "known")
    return count_harms(harm for _, harm in {(cause.id, cause.harm) for cause in causes})
