"""The result of a comparison, and its JSON. Without `text`, the JSON contains no recorded text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamconform.model.result import ImplementationInfo
from streamconform.printable import escape_line
from streamconform.reports.describe import describe_difference, format_count
from streamconform.tools.compare.gather import ABOUT, About, DifferenceCause, DifferencePlace, EndingRow
from streamconform.tools.compare.recordings import UnreadRecording


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of running implementations over recordings."""

    version: str
    implementations: tuple[ImplementationInfo, ...]
    deliveries: tuple[str, ...]
    seed: int
    read: Mapping[str, int]
    """Recordings by api."""
    trials: int
    unread: tuple[UnreadRecording, ...]
    skipped: Mapping[tuple[int, str], int]
    """Skipped trials, by implementation and reason."""
    rows: tuple[EndingRow, ...]
    causes: tuple[DifferenceCause, ...]
    examples: int
    """Places that are named of each cause."""
    complete: bool

    def name(self, index: int) -> str:
        """Return the name of an implementation as given on the command line."""
        return self.implementations[index].impl

    def who(self, cause: DifferenceCause) -> str:
        """Return the names of the implementations that differ."""
        return " -> ".join(self.name(index) for index in cause.who)


def count_unread(unread: Sequence[UnreadRecording]) -> Mapping[tuple[str, str], int]:
    """Return how many recordings were not read, by api and reason."""
    return Counter((each.api, each.reason) for each in unread)


def format_title(cause: DifferenceCause) -> str:
    """Return path and kind of difference in one line."""
    return f"{cause.what}: {cause.how}" if cause.how else cause.what


def select_examples(cause: DifferenceCause, count: int) -> Iterator[tuple[DifferencePlace, int]]:
    """Yield a place in each of the first `count` recordings, and how many more it has there."""
    found: dict[str, list[DifferencePlace]] = {}
    for place in cause.places:
        found.setdefault(place.file, []).append(place)
    for places, _ in zip(found.values(), range(count), strict=False):
        yield places[0], len(places) - 1


def describe_place(place: DifferencePlace) -> list[str]:
    """Return the difference at `place` in words, with what was recorded in them."""
    if place.check is not None:
        return describe_difference(place.check, place.sides)
    return [escape_line(place.reason, 300)] if place.reason else []


def format_summary(found: Comparison) -> str:
    """Return the last line: what was compared, and how much was found."""
    total = sum(found.read.values())
    counts = Counter(cause.about for cause in found.causes)
    differing = len({file for cause in found.causes for file in cause.files})
    said = [f"{counts[about]} of {name.lower()}" for about, name in SHORT.items() if counts[about]]
    told = f" ({', '.join(said)})" if said else ""
    return (
        f"{format_count(total, 'recording')}, {format_count(found.trials, 'trial')}, "
        f"{format_count(len(found.causes), 'cause')} in {format_count(differing, 'recording')}{told}, "
        f"{len(found.unread)} not read{'' if found.complete else ' (cut short)'}"
    )


SHORT: Final[Mapping[About, str]] = {
    "implementations": "implementations that differ",
    "deliveries": "deliveries that differ",
    "invariant": "invariants",
    "no answer": "missing answers",
}
assert SHORT.keys() == ABOUT.keys(), "every finding is counted"


def to_json(found: Comparison, *, text: bool) -> str:
    """Return the comparison as one JSON document; deterministic."""
    document = {
        "compare": 1,
        "version": found.version,
        "implementations": [
            {"impl": each.impl, "name": each.name, "version": each.version, "language": each.language}
            for each in found.implementations
        ],
        "deliveries": list(found.deliveries),
        "seed": found.seed,
        "recordings": dict(found.read),
        "trials": found.trials,
        "complete": found.complete,
        "not_read": [
            {"api": api, "reason": reason, "recordings": count}
            for (api, reason), count in count_unread(found.unread).items()
        ],
        "skipped": [
            {"implementation": index, "reason": reason, "trials": count}
            for (index, reason), count in found.skipped.items()
        ],
        "outcomes": [
            {"api": row.api, "status": row.status, "reason": row.reason, "recordings": list(row.counts)}
            for row in found.rows
        ],
        "causes": [_cause(found, cause, text=text) for cause in found.causes],
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def _cause(found: Comparison, cause: DifferenceCause, *, text: bool) -> dict[str, Any]:
    return {
        "about": cause.about,
        "implementations": list(cause.who),
        "what": cause.what,
        "how": cause.how or None,
        "recordings": len(cause.files),
        "trials": len({(place.file, place.delivery) for place in cause.places}),
        "examples": [
            {"file": place.file, "delivery": place.delivery, "path": place.path}
            | ({"words": describe_place(place)} if text else {})
            for place, _ in select_examples(cause, found.examples)
        ],
    }
