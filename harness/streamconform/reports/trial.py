"""Describe one result in plain lines, worst difference first, for reports with one entry per trial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamconform.causes.raised import describe_error
from streamconform.model.result import Header, TrialResult
from streamconform.printable import escape_line
from streamconform.reports.causes import format_explain_command, format_run_command
from streamconform.reports.describe import VERDICT_LABELS, describe_check
from streamconform.reports.terminal import DECIDED_AT_END, format_frames
from streamconform.reports.tracebacks import read_traceback

MAX_CHECKS: Final = 20
SEVERITY: Final = ("fail", "warn", "may")


def describe_trial(result: TrialResult, header: Header) -> Iterator[str]:
    """Yield the reason why a trial did not pass, the relevant frames, guarded bugs, and the run command."""
    info = header.implementations[result.implementation]
    checks = sorted(result.checks, key=lambda check: SEVERITY.index(check.verdict))
    if result.reason or not checks:
        culprit = "adapter error: " if result.culprit == "adapter" else ""
        yield f"{culprit}{escape_line(result.reason or VERDICT_LABELS[result.verdict], 400)}"
    raised = describe_error(result)
    if not checks:
        yield from raised
    for check in checks[:MAX_CHECKS]:
        yield from describe_check(check)
        if check is checks[0]:
            yield from (f"  {line}" for line in raised)
        if check.frames:
            command = format_explain_command(info, result, header)
            yield f"  relevant {format_frames(check.frames)}; to see them: `{command}`"
        elif check.path in DECIDED_AT_END:
            yield "  relevant: the end of the stream"
    if len(checks) > MAX_CHECKS:
        yield f"… and {len(checks) - MAX_CHECKS} more checks"
    yield from (f"| {line}" for line in read_traceback(result.observation))
    if result.title:
        yield f"case: {escape_line(result.title, 200)}"
    if result.guards:
        yield escape_line(f"guards against {', '.join(result.guards)}", 400)
    yield f"reproduce: {format_run_command(info, result, header)}"
