"""One self-contained HTML file: headline, matrix, causes, and a view of each case with its bytes.

It makes no network requests.
"""

from __future__ import annotations

from streamconform.run.results import Results

__all__ = ["render"]


def render(results: Results, baseline: Results | None = None) -> str:
    """Return the page for `results`; with `baseline`, it also lists new, fixed and still failing trials.

    Cases and cassettes are read from the folders named in the header's selection. If they cannot be read, or
    may have changed since the run, the page says so.
    """
    from streamconform.reports.html import page  # Importing jinja2 takes longer than most reports take.

    return page.render(results, baseline)
