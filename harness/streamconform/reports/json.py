"""The whole run as one deterministic JSON document, and the lines of `results.jsonl`."""

from __future__ import annotations

import json
from dataclasses import replace

from streamconform.model.result import Footer, Header, TrialResult
from streamconform.reports.summary import describe_incomplete
from streamconform.run.results import Results, to_json


def render(results: Results) -> str:
    """Return the header, the trials and the footer; `cut` says why the results are incomplete.

    Date, command, platform and times are left out, so that the same run always produces the same bytes.
    """
    trials = [to_json(trial) for trial in results.trials]
    for trial in trials:
        del trial["ms"]
    document = {
        "header": to_json(replace(results.header, date=None, command=None, platform=None)),
        "trials": trials,
        "footer": None if results.footer is None else to_json(replace(results.footer, seconds=None)),
        "cut": describe_incomplete(results),
    }
    return json.dumps(document, indent=1)


def render_lines(results: Results) -> str:
    """Return `results` in the format of `results.jsonl`, for example to save merged shards as one file."""
    records: list[Header | TrialResult | Footer] = [results.header, *results.trials]
    if results.footer is not None:
        records.append(results.footer)
    return "\n".join(json.dumps(to_json(record), separators=(",", ":")) for record in records)
