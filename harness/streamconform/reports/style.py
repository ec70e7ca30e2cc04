"""Lines with a style: colored and wrapped on a terminal, plain text anywhere else."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TextIO

from streamconform.printable import escape_unprintable

# rich is imported where it is used: it takes longer to import than a run of one trial, and lines for a file
# or a pipe do not need it.
if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

UNLIMITED: Final = 10**6
"""The width of a colored file or pipe, which gets every line as it is."""
_FORCES_COLOR: Final = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""The variables that make rich treat a file or a pipe as a terminal."""


class StyledLine(NamedTuple):
    """A line of text and its rich style."""

    text: str
    style: str = ""
    hang: int = 0
    """The column to which a terminal indents the next rows; by default, the one after the list mark."""


class LineText(NamedTuple):
    """A line that rich wraps to the width of the console at spaces, with a hanging indent."""

    parts: tuple[StyledLine, ...]

    def __str__(self) -> str:
        """Return the text without styles."""
        return "".join(part.text for part in self.parts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one text per row."""
        from rich.cells import cell_len
        from rich.text import Text

        from streamconform.reports.wrapping import wrap_line

        text = Text.assemble(*((part.text, part.style) for part in self.parts))
        hang = max((part.hang for part in self.parts), default=0)
        rows = wrap_line(text.plain, options.max_width, hang, cell_len)
        if len(rows) == 1:
            yield text
            return
        for start, end, indent, tail in rows:
            yield Text(" " * indent).append_text(text[start:end]).append(tail)


class PlainConsole:
    """Writes lines to a file or a pipe, without styles."""

    is_terminal: Literal[False] = False

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`."""
        self._stream = stream

    def print(self, *lines: LineText | str) -> None:
        """Write each of `lines`."""
        self._stream.write("".join(f"{line}\n" for line in lines))
        self._stream.flush()


def make_text(*parts: StyledLine) -> LineText:
    """Return `parts` as one line of text, with every non-printable character escaped."""
    # Done here rather than in each report: results are read from a file, so any field can contain an escape
    # sequence. Escaping text twice changes nothing.
    return LineText(tuple(part._replace(text=escape_unprintable(part.text)) for part in parts))


def make_console(stream: TextIO, *, like: TextIO | None = None) -> Console | PlainConsole:
    """Return a console that wraps only on a terminal; NO_COLOR and FORCE_COLOR are honored.

    It writes to `stream` what it would write to the stream `like`.
    """
    is_terminal = (like or stream).isatty()
    if not is_terminal and not any(map(os.environ.get, _FORCES_COLOR)):
        return PlainConsole(stream)
    from rich.console import Console

    # No `highlight`: it would color numbers and words in quoted text. `soft_wrap` keeps rich from cutting off
    # a command's word that is wider than the terminal.
    return Console(
        file=stream,
        highlight=False,
        soft_wrap=True,
        width=None if is_terminal else UNLIMITED,
        force_terminal=(is_terminal and like is not None) or None,
    )


def print_lines(lines: Iterable[StyledLine]) -> None:
    """Print `lines` to stdout."""
    _print_all(make_console(sys.stdout), lines)


def render_lines(lines: Iterable[StyledLine]) -> str:
    """Return `lines` as stdout would show them: colored and wrapped on a terminal, otherwise plain."""
    text = io.StringIO()
    # A pager reads this text, so render it as if for stdout.
    _print_all(make_console(text, like=sys.stdout), lines)
    return text.getvalue()


def _print_all(console: Console | PlainConsole, lines: Iterable[StyledLine]) -> None:
    rows = tuple(map(make_text, lines))
    if rows:  # rich would print an empty line
        console.print(*rows)
