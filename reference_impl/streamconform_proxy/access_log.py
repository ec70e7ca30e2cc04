"""The log: a line for a request when it is over, and for what was none."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

Say = Callable[[str], None]
"""Takes a line."""

MAX_LINE: Final = 400
"""Characters; clients write some of them."""


@dataclass(slots=True)
class Account:
    """What is told of a request when it is over; nothing of what was asked or answered, and no key."""

    method: str
    path: str
    status: int = 0
    sent: int = 0
    """Bytes of the body."""
    notes: list[str] = field(default_factory=list)

    def line(self, milliseconds: float) -> str:
        """Return the line of the log."""
        words = f"{self.method} {self.path} {self.status or '-'} {milliseconds:.0f} ms {self.sent} bytes"
        return printable("  ".join([words, *(["; ".join(self.notes)] if self.notes else [])]))


def printable(text: str) -> str:
    """Return `text` as a line that does nothing to a terminal."""
    return "".join(each if each.isprintable() else "?" for each in text[:MAX_LINE])


def logger_to(say: Say) -> logging.Logger:
    """Return a logger for the HTTP server below, of whose exceptions one line is told and no traceback."""
    logger = logging.Logger("proxy", logging.WARNING)  # noqa: LOG001 - not of the process, but of one proxy
    logger.addHandler(_Lines(say))
    return logger


class _Lines(logging.Handler):
    def __init__(self, say: Say) -> None:
        super().__init__()
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        words = " ".join(str(error).split()) if error else ""
        self._say(printable(f"{record.getMessage()}  {words}".rstrip()))
