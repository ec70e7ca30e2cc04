"""Progress is printed as lines on stderr if stdout is not a terminal."""

from __future__ import annotations

import io
import re
import time

from streamconform.cli.progress import ProgressLines

from ..harness import builders

HEADER = builders.results(trials=1234).header


def test_lines_count_finished_and_failed_trials_until_the_run_ends():
    stream = io.StringIO()
    with ProgressLines(enabled=True, strict=False, stream=stream, interval=0.02) as lines:
        lines.start(HEADER)
        for verdict in ("pass", "fail"):
            lines.advance(builders.result(verdict))
        deadline = time.monotonic() + 20
        while "2 of" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    printed = stream.getvalue()
    # On a busy machine, a line may be printed before the trials are counted.
    earlier = r"(0 of 1,234 trials, \d+ s\n|1 of 1,234 trials, \d+ s\n)*"
    assert re.fullmatch(earlier + r"(2 of 1,234 trials, 1 failed, \d+ s\n)+", printed)
    time.sleep(0.05)
    assert stream.getvalue() == printed


def test_a_terminal_and_a_quiet_run_get_no_lines():
    stream = io.StringIO()
    with ProgressLines(enabled=False, strict=False, stream=stream, interval=0.01) as lines:
        lines.start(HEADER)
        time.sleep(0.05)
    assert stream.getvalue() == ""
