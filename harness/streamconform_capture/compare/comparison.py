"""The result of a comparison, and its JSON. Without `text`, the JSON contains no recorded text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform.model.result import ImplementationInfo
from streamconform.plural import format_count
from streamconform_capture.compare.findings import ABOUT, About, Finding
from streamconform_capture.compare.part import Cause, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of running implementations on recordings."""

    version: str
    implementations: tuple[ImplementationInfo, ...]
    deliveries: tuple[str, ...]
    seed: int
    found: Part
    complete: bool
    minimised: Mapping[Finding, str]
    """Maps each example to the cassette that contains its minimised form."""

    def name(self, index: int) -> str:
        """Return an implementation's name as given on the command line."""
        return self.implementations[index].impl

    def who(self, cause: Cause) -> str:
        """Return the names of the implementations that differ."""
        return " -> ".join(self.name(index) for index in cause.who)

    def list_endings(self) -> Iterator[tuple[str, str, str, tuple[int, ...]]]:
        """Yield each (API, status, stop reason), with the number of such recordings per implementation."""
        endings = self.found.endings
        for api, status, reason in sorted({key[:3] for key in endings}):
            counts = (endings.get((api, status, reason, i), 0) for i in range(len(self.implementations)))
            yield api, status, reason, tuple(counts)


SHORT: Final[Mapping[About, str]] = {
    "implementations": "implementations that differ",
    "deliveries": "deliveries that differ",
    "invariant": "invariants",
    "no answer": "missing answers",
}
assert SHORT.keys() == ABOUT.keys(), "every finding is counted"


def format_summary(comparison: Comparison) -> str:
    """Return the summary line, with the number of recordings, trials and causes."""
    found = comparison.found
    counts = Counter(cause.about for cause in found.causes)
    parts = [f"{counts[about]} of {name}" for about, name in SHORT.items() if counts[about]]
    told = f" ({', '.join(parts)})" if parts else ""
    return (
        f"{format_count(found.recordings, 'recording')}, {format_count(found.trials, 'trial')}, "
        f"{format_count(len(found.causes), 'cause')} in {format_count(found.differing, 'recording')}"
        f"{told}, {found.not_read:,} not read{'' if comparison.complete else ' (cut short)'}"
    )


def to_json(comparison: Comparison, *, text: bool) -> str:
    """Return the comparison as one JSON document; deterministic."""
    found = comparison.found
    document = {
        "compare": 2,
        "version": comparison.version,
        "implementations": [
            {"impl": each.impl, "name": each.name, "version": each.version, "language": each.language}
            for each in comparison.implementations
        ],
        "deliveries": list(comparison.deliveries),
        "seed": comparison.seed,
        "recordings": dict(found.read),
        "trials": found.trials,
        "complete": comparison.complete,
        "not_read": [
            {"api": each.api, "reason": each.reason, "recordings": each.recordings, "files": list(each.files)}
            for each in found.unread
        ],
        "skipped": [
            {"implementation": index, "reason": reason, "trials": count}
            for (index, reason), count in found.skipped.items()
        ],
        "outcomes": [
            {"api": api, "status": status, "reason": reason, "recordings": list(counts)}
            for api, status, reason, counts in comparison.list_endings()
        ],
        "differing": found.differing,
        "causes": [_cause(comparison, cause, text=text) for cause in found.causes],
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def _cause(comparison: Comparison, cause: Cause, *, text: bool) -> dict[str, Any]:
    return {
        "about": cause.about,
        "implementations": list(cause.who),
        "what": cause.what,
        "harm": cause.harm,
        "recordings": cause.recordings,
        "trials": cause.trials,
        "examples": [
            {
                "file": each.file,
                "bytes": each.size,
                "delivery": each.delivery,
                "path": each.path,
                "minimised": comparison.minimised.get(each),
            }
            | ({"words": list(each.words)} if text else {})
            for each in cause.examples
        ],
    }
