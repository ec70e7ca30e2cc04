"""A badge: the JSON that the endpoint badge of shields.io asks for (schemaVersion 1)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Final

from streamconform.reports.words import cut, unexpected
from streamconform.run.results import Results

LABEL: Final = "streamconform"


def render(results: Results) -> str:
    """Return the JSON: how many trials of those that were judged are as they should be.

    A cut run, and one in which nothing was judged, is an error, so that it never looks like a good one.
    """
    counts = Counter(trial.verdict for trial in results.trials)
    judged = len(results.trials) - counts["skipped"]
    failed = len(unexpected(results))
    problems = len(results.footer.problems) if results.footer else 0
    good = judged - failed - counts["known"]
    known = f", {counts['known']} known" if counts["known"] else ""
    if cut(results) is not None:
        message, color = f"cut: {len(results.trials)} of {results.header.trials} trials", "lightgrey"
    elif not judged:
        message, color = "nothing ran", "lightgrey"
    else:
        message = f"{good}/{judged}{known}"
        color = "red" if failed or problems else "green" if counts["known"] else "brightgreen"
    badge: dict[str, object] = {"schemaVersion": 1, "label": LABEL, "message": message, "color": color}
    if color == "lightgrey":
        badge["isError"] = True
    return json.dumps(badge)
