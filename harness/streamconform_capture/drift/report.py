"""Format drift for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from streamconform.plural import format_count
from streamconform_capture.drift.find import Drift, Novelty

WIDTH: Final = 300
"""The maximum width of a line, whose names come from the streams."""


def format_lines(drift: Drift) -> Iterator[str]:
    """Yield the lines; the last one is the summary."""
    for api, group in groupby(drift.novelties, key=lambda each: each.api):
        yield api
        for novelty in group:
            yield f"  {novelty.shape}"
            yield f"      {_describe_extent(novelty)}"
    for ending in drift.endings:
        extent = f"{format_count(ending.answers, 'answer')}, for example {ending.example}"
        yield f"{ending.api} {ending.status} {ending.reason}: {extent}"
    for name, reason in drift.unread:
        yield f"not read: {name}: {reason}"
    yield format_summary(drift)


def format_summary(drift: Drift) -> str:
    """Return one line with the numbers of examined answers and new shapes."""
    looked = ", ".join(f"{count:,} of {api}" for api, count in sorted(drift.answers.items()))
    total = format_count(sum(drift.answers.values()), "answer")
    new = format_count(len(drift.novelties), "new shape") if drift.novelties else "nothing new"
    return f"{new} in {total} ({looked})" if looked else f"{new}: no answer was read"


def _describe_extent(novelty: Novelty) -> str:
    days = novelty.first if novelty.first == novelty.last else f"{novelty.first} to {novelty.last}"
    when = f", {days}" if novelty.first else ""
    effect = "; it changes the outcome" if novelty.changes_outcome else ""
    return f"{format_count(novelty.answers, 'answer')}{when}, for example {novelty.example}{effect}"
