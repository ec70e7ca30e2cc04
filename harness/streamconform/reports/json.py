"""The whole run as one JSON document, deterministic; and the lines of `results.jsonl` again."""

from __future__ import annotations

import json
from dataclasses import replace

from streamconform.model.result import Footer, Header, TrialResult
from streamconform.reports.words import cut
from streamconform.run.results import Results, to_json


def render(results: Results) -> str:
    """Return header and trials without times, and footer; `cut` says in words that the run did not end."""
    trials = [to_json(each) for each in results.trials]
    for trial in trials:
        del trial["ms"]
    document = {
        "header": to_json(replace(results.header, date=None)),
        "trials": trials,
        "footer": None if results.footer is None else to_json(results.footer),
        "cut": cut(results),
    }
    return json.dumps(document, indent=1)


def lines(results: Results) -> str:
    """Return `results` as a run writes them; shards that were joined are one file then."""
    every: list[Header | TrialResult | Footer] = [results.header, *results.trials]
    if results.footer is not None:
        every.append(results.footer)
    return "\n".join(json.dumps(to_json(each), separators=(",", ":")) for each in every)
