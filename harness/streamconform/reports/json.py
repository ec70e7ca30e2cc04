"""The whole run as one JSON document: header, trials without times, footer. Deterministic."""

from __future__ import annotations

import json

from streamconform.run.results import Results, to_json


def render(results: Results) -> str:
    """Return the document; `complete` is false where the run was cut."""
    trials = [to_json(each) for each in results.trials]
    for trial in trials:
        del trial["ms"]
    document = {
        "header": to_json(results.header),
        "trials": trials,
        "footer": None if results.footer is None else to_json(results.footer),
    }
    return json.dumps(document, indent=1)
