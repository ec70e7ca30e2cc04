"""Format drift for the terminal, as Markdown for an issue, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from streamconform.plural import format_count

from streamconform_capture.drift.find import Drift, Novelty


def format_lines(drift: Drift) -> Iterator[str]:
    """Yield the lines; the last one is the summary."""
    for api, group in groupby(drift.novelties, key=lambda each: each.api):
        yield api
        for novelty in group:
            yield f"  {novelty.shape}"
            yield f"      {_describe_extent(novelty)}"
    for reason, count in Counter(reason for _, reason in drift.unread).items():
        yield f"not read: {format_count(count, 'recording')}: {reason}"
    yield format_summary(drift)


def format_summary(drift: Drift) -> str:
    """Return one line with the numbers of examined streams and new shapes."""
    looked = ", ".join(f"{count:,} of {api}" for api, count in sorted(drift.streams.items()))
    total = format_count(sum(drift.streams.values()), "stream")
    new = format_count(len(drift.novelties), "new shape") if drift.novelties else "nothing new"
    return f"{new} in {total} ({looked})" if looked else f"{new}: no stream was read"


def format_markdown(drift: Drift) -> str:
    """Return a table for an issue."""
    lines = ["# Shapes that are new to streamconform", "", f"{format_summary(drift)}.", ""]
    if drift.novelties:
        lines += ["| API | new | streams | example | first | last |", "|---|---|---|---|---|---|"]
        lines += [_format_row(each) for each in drift.novelties]
    counts = Counter(reason for _, reason in drift.unread)
    lines += [f"- not read: {format_count(count, 'recording')}: {reason}" for reason, count in counts.items()]
    return "\n".join(lines) + "\n"


def _format_row(novelty: Novelty) -> str:
    shape = str(novelty.shape).replace("|", "\\|")
    days = f"{novelty.first or ''} | {novelty.last or ''}"
    return f"| {novelty.api} | `{shape}` | {novelty.streams} | {novelty.example} | {days} |"


def format_json(drift: Drift) -> str:
    """Return the full result: the number of `streams` per API, each `new` shape, and the `unread` streams."""
    document = {
        "drift": 1,
        "streams": dict(sorted(drift.streams.items())),
        "new": [
            {
                "api": each.api,
                "event": each.shape.event,
                "path": each.shape.path,
                "type": each.shape.type,
                "streams": each.streams,
                "example": each.example,
                "first": each.first,
                "last": each.last,
            }
            for each in drift.novelties
        ],
        "unread": [{"name": name, "reason": reason} for name, reason in drift.unread],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _describe_extent(novelty: Novelty) -> str:
    days = novelty.first if novelty.first == novelty.last else f"{novelty.first} to {novelty.last}"
    when = f", {days}" if novelty.first else ""
    return f"{format_count(novelty.streams, 'stream')}{when}, for example {novelty.example}"
