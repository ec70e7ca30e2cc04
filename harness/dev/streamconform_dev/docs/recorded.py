"""Generate the table in docs/recorded.md: the cases based on pulled recordings, by source and API."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from streamconform.resources import find_bundled
from streamconform.suite.catalog import read_case_ids
from streamconform.suite.load import Sources, list_spec_files, load_heads
from streamconform.suite.pulled import is_recorded, make_topic
from streamconform_capture.corpus.sources import SOURCES, Source
from streamconform_dev.checkout import ROOT

PAGE: Final = ROOT / "docs" / "recorded.md"
BEGIN, END = "<!-- sources -->\n", "<!-- end of sources -->\n"
LOOK_ALIKE: Final = "look-alike"
"""The tag of cases whose stream is not from the provider that defines the API."""


def generate() -> dict[Path, bytes]:
    """Return the page with the current table."""
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    return {PAGE: f"{head}{BEGIN}\n{format_table()}\n{END}{tail}".encode()}


def format_table() -> str:
    """Return a row per source with its cases by API, and a row with the sums."""
    cases, first_party = count_cases()
    rows = ["| source | distribution | license | cases | first-party |", "|---|---|---|---|---|"]
    rows += [_format_row(source, cases, first_party) for source in SOURCES.values()]
    total = Counter[str]()
    for (_, api), count in cases.items():
        total[api] += count
    rows.append(f"| all | | | {_format_apis(total)} | {sum(first_party.values()):,} |")
    return "\n".join(rows) + "\n"


def count_cases() -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """Return the number of cases by (topic, API), and of those from the API's own provider by topic."""
    specs = find_bundled("specs")
    files = [path for path in list_spec_files(specs, recorded=True) if is_recorded(path.name)]
    ids = {id_ for path in files for id_ in read_case_ids(path)}
    cases: Counter[tuple[str, str]] = Counter()
    first_party: Counter[str] = Counter()
    for head in load_heads(Sources(specs, specs), files, ids):
        api, topic, _ = head.id.split("/")
        cases[topic, api] += 1
        first_party[topic] += LOOK_ALIKE not in head.tags
    return cases, first_party


def _format_row(source: Source, cases: Counter[tuple[str, str]], first_party: Counter[str]) -> str:
    topic = make_topic(source.name)
    apis = Counter({api: count for (of, api), count in cases.items() if of == topic})
    name = f"{source.distribution} {source.version}"
    return f"| `{source.name}` | {name} | {source.licence} | {_format_apis(apis)} | {first_party[topic]:,} |"


def _format_apis(counts: Counter[str]) -> str:
    if not counts:
        return "0"
    parts = ", ".join(f"{count:,} {api}" for api, count in counts.most_common())
    return f"{counts.total():,}: {parts}" if len(counts) > 1 else parts
