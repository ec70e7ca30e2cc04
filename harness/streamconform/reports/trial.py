"""One result in plain lines, its worst difference first: for reports that have a place for each trial."""

from __future__ import annotations

from collections.abc import Iterator

from streamconform.model.result import Header, TrialResult
from streamconform.reports.causes import explains, reproduce
from streamconform.reports.terminal import AT_THE_END, frames
from streamconform.reports.words import printable, told

CHECKS_SHOWN = 20
ORDER = ("fail", "warn", "may")


def lines(result: TrialResult, header: Header) -> Iterator[str]:
    """Yield why a trial is not as it should be, by which frames, what it guards, and how to run it again."""
    info = header.implementations[result.implementation]
    checks = sorted(result.checks, key=lambda check: ORDER.index(check.verdict))
    if result.reason or not checks:
        fault = "the adapter's fault: " if result.culprit == "adapter" else ""
        yield f"{fault}{printable(result.reason or result.verdict, 400)}"
    for check in checks[:CHECKS_SHOWN]:
        yield from told(check)
        if check.frames:
            yield f"  decided by {frames(check.frames)}; `{explains(info, result, header)}` shows them"
        elif check.path in AT_THE_END:
            yield "  decided by the end of the stream"
    if len(checks) > CHECKS_SHOWN:
        yield f"… and {len(checks) - CHECKS_SHOWN} more checks"
    traceback = (result.observation or {}).get("traceback")
    if isinstance(traceback, str):
        yield from (f"| {printable(line, 200)}" for line in traceback.strip().splitlines())
    if result.title:
        yield f"case: {printable(result.title, 200)}"
    if result.guards:
        yield f"guards against {', '.join(result.guards)}"
    yield f"reproduce: {reproduce(info, result, header)}"
