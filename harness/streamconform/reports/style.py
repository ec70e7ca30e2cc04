"""Lines with a style: colored and wrapped on a terminal, plain text anywhere else."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.text import Text

from streamconform.printable import escape_unprintable
from streamconform.reports.wrapping import wrap_line

UNLIMITED: Final = 10**6
"""The width of anything but a terminal: a file or a pipe gets every line as it is."""


class StyledLine(NamedTuple):
    """A line of text and its rich style."""

    text: str
    style: str = ""
    hang: int = 0
    """The column to which a terminal indents the next rows; by default, the one after the list mark."""


@dataclass(frozen=True, slots=True)
class LineText:
    """A line that rich wraps to the width of the console at spaces, with a hanging indent."""

    text: Text
    hang: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one text per row."""
        rows = wrap_line(self.text.plain, options.max_width, self.hang, cell_len)
        if len(rows) == 1:
            yield self.text
            return
        for start, end, indent, tail in rows:
            yield Text(" " * indent).append_text(self.text[start:end]).append(tail)


def make_text(*parts: StyledLine) -> LineText:
    """Return `parts` as one line of text, with every non-printable character escaped."""
    # Done here rather than in each report: results are read from a file, so any field can contain an escape
    # sequence. Escaping text twice changes nothing.
    text = Text.assemble(*((escape_unprintable(part.text), part.style) for part in parts))
    return LineText(text, max((part.hang for part in parts), default=0))


def make_console(stream: TextIO) -> Console:
    """Return a console that wraps only on a terminal; NO_COLOR and FORCE_COLOR are honored."""
    # No `highlight`: it would color numbers and words in quoted text. `soft_wrap` keeps rich from cutting off
    # a command's word that is wider than the terminal.
    width = None if stream.isatty() else UNLIMITED
    return Console(file=stream, highlight=False, soft_wrap=True, width=width)


def print_lines(lines: Iterable[StyledLine]) -> None:
    """Print `lines` to stdout."""
    # As one group, because rich takes longer for each call than for a line.
    make_console(sys.stdout).print(Group(*map(make_text, lines)))


def render_lines(lines: Iterable[StyledLine]) -> str:
    """Return `lines` as stdout would show them: colored and wrapped on a terminal, otherwise plain."""
    text = io.StringIO()
    # A pager reads this text, so render it as if for stdout; None leaves the choice to FORCE_COLOR.
    is_terminal = sys.stdout.isatty()
    width = Console().width if is_terminal else UNLIMITED
    console = Console(
        file=text, highlight=False, soft_wrap=True, width=width, force_terminal=is_terminal or None
    )
    console.print(Group(*map(make_text, lines)))
    return text.getvalue()
