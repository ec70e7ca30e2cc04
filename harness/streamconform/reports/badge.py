"""A badge, in the JSON format of shields.io endpoint badges (schemaVersion 1)."""

from __future__ import annotations

import json
from typing import Final

from streamconform.reports.declared import choose_declared_color, describe_declared, is_declared
from streamconform.reports.summary import describe_incomplete, format_badge, needs_attention, summarize
from streamconform.run.results import Results

LABEL: Final = "streamconform"


def render(results: Results) -> str:
    """Return the badge's JSON, with the counts in the run's headline as its message."""
    summary = summarize(results)
    badge: dict[str, object] = {"schemaVersion": 1, "label": LABEL, "message": format_badge(results)}
    if describe_incomplete(results) is not None or not summary.judged:
        # An error badge, so that a run without a result never looks like a good one.
        return json.dumps({**badge, "color": "lightgrey", "isError": True})
    if summary.failed or summary.fixed or summary.problems or summary.claims:
        badge["color"] = "red"
        if is_declared(results):
            badge["message"] = "not as declared"
    elif is_declared(results):
        badge["message"] = describe_declared(results, most=1)
        badge["color"] = choose_declared_color(results)
    else:
        badge["color"] = "yellow" if needs_attention(results) else "brightgreen"
    return json.dumps(badge)
