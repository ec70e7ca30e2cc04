"""Report the progress of a run as lines on stderr, for runs whose stdout is not a terminal."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Final, Self, TextIO

from streamconform.model.result import Header, TrialResult, is_unexpected

INTERVAL: Final = 10.0
"""Seconds between two progress lines; a run shorter than this prints none."""


class ProgressLines:
    """Prints the number of finished trials every `interval` seconds, from a separate thread.

    A timer prints the lines, because a run whose trials hang gets no results and would look stuck.
    """

    def __init__(
        self, *, enabled: bool, strict: bool, stream: TextIO | None = None, interval: float = INTERVAL
    ) -> None:
        """Print to `stream`, by default stderr; under `strict`, warnings count as failures."""
        self._stream = sys.stderr if stream is None else stream
        self._enabled, self._strict, self._interval = enabled, strict, interval
        self._started = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._print_lines, daemon=True)
        self._finished = self._failed = self._total = 0

    def __enter__(self) -> Self:
        """Return self; `start` begins the output."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop printing."""
        self._ended.set()
        # The thread was never started if the run ended before its header.
        if self._thread.is_alive():
            self._thread.join()

    def start(self, header: Header) -> None:
        """Begin counting the trials of the run that `header` describes."""
        self._total = header.trials
        if self._enabled:
            self._thread.start()

    def advance(self, result: TrialResult) -> None:
        """Count one trial."""
        self._finished += 1
        self._failed += is_unexpected(result, strict=self._strict)

    def _print_lines(self) -> None:
        while not self._ended.wait(self._interval):
            seconds = time.monotonic() - self._started
            failed = f", {self._failed:,} failed" if self._failed else ""
            self._stream.write(f"{self._finished:,} of {self._total:,} trials{failed}, {seconds:.0f} s\n")
            self._stream.flush()
