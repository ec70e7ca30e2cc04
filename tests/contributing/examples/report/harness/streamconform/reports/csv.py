"""A table of trials as CSV: one row per trial, with the failed checks."""

from __future__ import annotations

import csv
import io

from streamconform.printable import escape_line
from streamconform.reports.summary import describe_incomplete
from streamconform.run.results import Results


def render(results: Results) -> str:
    """Return the table. The last row of incomplete results says why they are incomplete."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("implementation", "trial", "verdict", "failed checks"))
    for trial in results.trials:
        info = results.header.implementations[trial.implementation]
        paths = " ".join(check.path for check in trial.checks if check.verdict == "fail")
        writer.writerow([escape_line(cell) for cell in (info.name, trial.id, trial.verdict, paths)])
    incomplete = describe_incomplete(results)
    if incomplete is not None:
        writer.writerow(("", incomplete, "", ""))
    return text.getvalue().rstrip("\n")
