"""Lines with a style: colored on a terminal, plain text anywhere else."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import NamedTuple, TextIO

from rich.console import Console
from rich.text import Text

from streamconform.printable import escape_unprintable


class StyledLine(NamedTuple):
    """A line of text and its rich style."""

    text: str
    style: str = ""


def make_text(*parts: StyledLine) -> Text:
    """Return `parts` as one line of text, with every non-printable character escaped."""
    # Done here rather than in each report: results are read from a file, so any field can contain an escape
    # sequence. Escaping text twice changes nothing.
    return Text.assemble(*((escape_unprintable(part.text), part.style) for part in parts))


def make_console(stream: TextIO) -> Console:
    """Return a console that never wraps lines; NO_COLOR and FORCE_COLOR are honored."""
    # No `highlight`: it would color numbers and words in quoted text.
    return Console(file=stream, highlight=False, soft_wrap=True, width=None if stream.isatty() else 120)


def print_lines(lines: Iterable[StyledLine]) -> None:
    """Print `lines` to stdout."""
    console = make_console(sys.stdout)
    for line in lines:
        console.print(make_text(line))


def render_lines(lines: Iterable[StyledLine]) -> str:
    """Return `lines` as stdout would show them: with color escapes on a terminal, otherwise plain."""
    text = io.StringIO()
    # A pager reads this text, so render it as if for stdout; None leaves the choice to FORCE_COLOR.
    forced = True if sys.stdout.isatty() else None
    console = Console(file=text, highlight=False, soft_wrap=True, width=120, force_terminal=forced)
    for line in lines:
        console.print(make_text(line))
    return text.getvalue()
