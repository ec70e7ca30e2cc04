"""Describe what the server saw in a trial about behavior, as one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from streamconform.printable import escape_line

MAX_LINE: Final = 600
"""The number of characters of a log to show; the results file has all of it."""
TEXTS: Final[Mapping[str, str]] = {
    "request": "request {request} on connection {connection}",
    "status": "status {detail} for request {request}",
    "sent": "sent {detail} frames of answer {request}",
    "ended": "answer {request} ended",
    "cut": "the server closed connection {connection} in answer {request}",
    "reset": "the server reset connection {connection} in answer {request}",
    "closed": "the client closed connection {connection}",
    "data": "{detail} bytes from the client within answer {request}",
    "paused": "the client stopped reading",
    "full": "the client takes no more after {detail} bytes",
    "accepted": "the client took {detail} bytes",
    "answered": "the adapter answered",
    "barrier": "another whole answer",
    "open": "connection {connection} is still open",
    "waited": "nothing happened for long",
}
"""What each event of a log means."""


def describe_log(observation: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the log in a result's observation as one escaped line, if there is one."""
    log = (observation or {}).get("server")
    if not isinstance(log, list) or not log:
        return
    events = [_describe_entry(entry) for entry in log if isinstance(entry, dict)]
    counted = [(text, len([*same])) for text, same in groupby(events)]
    parts = (text if count == 1 else f"{text} ({count} times)" for text, count in counted)
    yield f"server  {escape_line(' · '.join(parts), MAX_LINE)}"


def _describe_entry(entry: Mapping[str, Any]) -> str:
    # A results file may hold anything.
    values = {name: entry.get(name) for name in ("request", "connection", "detail")}
    return TEXTS.get(str(entry.get("event")), "an unknown event").format_map(values)
