"""One HTML file that needs no network: verdict, matrix, causes, and a page a case with its wire."""

from __future__ import annotations

from streamconform.run.results import Results


def render(results: Results, baseline: Results | None = None) -> str:
    """Return the page of `results`; with `baseline` it says what is new, fixed and still failing.

    Cases and cassettes are read by the header's selection. Where they cannot be read, or are not those of
    the run any more, the page is made without them and says so.
    """
    from streamconform.reports.html import page  # jinja2 takes longer to import than most runs to report

    return page.render(results, baseline)
