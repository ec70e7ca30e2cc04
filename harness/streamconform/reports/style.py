"""Lines with a style: colour on a terminal, nothing of it anywhere else."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import NamedTuple, TextIO

from rich.console import Console
from rich.text import Text


class Line(NamedTuple):
    """A line, and how a terminal shows it: a style of rich."""

    text: str
    style: str = ""


def console(stream: TextIO) -> Console:
    """Return a console that breaks no line; NO_COLOR and FORCE_COLOR are honoured."""
    return Console(file=stream, highlight=False, soft_wrap=True, width=None if stream.isatty() else 120)


def show(lines: Iterable[Line]) -> None:
    """Print `lines` to stdout."""
    out = console(sys.stdout)
    for line in lines:
        out.print(Text(*line))


def drawn(lines: Iterable[Line]) -> str:
    """Return `lines` as stdout would show them: with escapes where it is a terminal, else plain."""
    text = io.StringIO()
    forced = True if sys.stdout.isatty() else None  # None leaves it to FORCE_COLOR
    out = Console(file=text, highlight=False, soft_wrap=True, width=120, force_terminal=forced)
    for line in lines:
        out.print(Text(*line))
    return text.getvalue()
