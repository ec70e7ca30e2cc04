"""Format the access log: one line per request, and one per error of the HTTP library."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

WriteLine = Callable[[str], None]
"""Writes one line of the log."""

MAX_LINE: Final = 400
"""The maximum length of a line; some of its text comes from clients."""


@dataclass(slots=True)
class AccessRecord:
    """The log entry for one request. It contains no keys and no part of the request or the answer."""

    method: str
    path: str
    status: int = 0
    sent: int = 0
    """The size of the response body in bytes."""
    notes: list[str] = field(default_factory=list)

    def format_line(self, milliseconds: float) -> str:
        """Return the log line for a request that took this many milliseconds."""
        summary = f"{self.method} {self.path} {self.status or '-'} {milliseconds:.0f} ms {self.sent} bytes"
        return make_printable("  ".join([summary, *(["; ".join(self.notes)] if self.notes else [])]))


def make_printable(text: str) -> str:
    """Return `text` as one short line without control characters, which could affect a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text[:MAX_LINE])


def build_logger(write: WriteLine) -> logging.Logger:
    """Return a logger for the HTTP library that writes one line per record, without tracebacks."""
    # Not obtained from `getLogger`, because the logger belongs to one proxy, not to the process.
    logger = logging.Logger("proxy", logging.WARNING)  # noqa: LOG001
    logger.addHandler(_LineHandler(write))
    return logger


class _LineHandler(logging.Handler):
    def __init__(self, write: WriteLine) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        reason = " ".join(str(error).split()) if error else ""
        self._write(make_printable(f"{record.getMessage()}  {reason}".rstrip()))
