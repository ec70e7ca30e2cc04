r"""Wrap a line to the width of a terminal at spaces, with the next rows indented under its text. Pure.

A shell command continues with `\`, so that several rows can be pasted into a shell as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

MIN_WIDTH: Final = 40
"""A narrower terminal wraps the rest itself."""
DEFAULT_INDENT: Final = 2
"""The indentation of the rows after the first if the line has neither indentation nor a list mark."""
NARROW_INDENT: Final = 8
"""The indentation of text that does not fit beside the columns on its left."""
COMMAND_INDENT: Final = 4
"""The additional indentation of the rows of a command after the first."""
CONTINUED: Final = " \\"
_BEGINNING: Final = re.compile(r" *(?:\d+\. |[-|>!→] )?")
"""Matches the indentation and the list mark before the text of a line."""
_COMMAND: Final = re.compile(r" *(?:[a-z]+: )?(?=conform [a-z])")
"""Matches the indentation and the label before a command."""
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_WORD_END: Final = re.compile(r"(?<! -[a-z]) (?=\S)")
"""Matches the space between two words of a command, except after a short option, whose value follows."""
_SOFT_BREAKS: Final = ",;&?/}]"
"""Characters after which a word that is longer than a row may be broken, such as compact JSON."""


class Row(NamedTuple):
    """One row of a wrapped line: `line[start:end]` after `indent` spaces, followed by `tail`."""

    start: int
    end: int
    indent: int = 0
    tail: str = ""


def wrap_line(line: str, width: int, hang: int = 0, measure: Callable[[str], int] = len) -> list[Row]:
    """Return the rows of `line`, each at most `width` cells wide.

    Rows after the first are indented to `hang`, the column where the text begins, or by default to the text
    after the indentation and a list mark. If `hang` leaves less than half of the width, the text has rows of
    its own. `measure` returns the number of cells of a text. A word of a command that is wider than a row is
    the only thing that is not broken.
    """
    width = max(width, MIN_WIDTH)
    if hang > width // 2:
        head = Row(0, len(line[:hang].rstrip(" ")))
        if not head.end:
            return list(_wrap(line, hang, width, NARROW_INDENT, measure, begin=NARROW_INDENT))
        if measure(line[: head.end]) <= width < measure(line):
            return [head, *_wrap(line, hang, width, NARROW_INDENT, measure, begin=NARROW_INDENT)]
        hang = NARROW_INDENT
    if measure(line) <= width:
        return [Row(0, len(line))]
    command = _COMMAND.match(line)
    if command is not None:
        indent = min(len(line) - len(line.lstrip(" ")) + COMMAND_INDENT, width // 2)
        return list(_wrap_command(line, command.end(), width, indent, measure))
    beginning = _BEGINNING.match(line)
    assert beginning is not None, "the pattern matches an empty text"
    indent = hang or beginning.end() or DEFAULT_INDENT
    return list(_wrap(line, 0, width, min(indent, width // 2), measure, begin=0))


def _wrap(
    line: str, start: int, width: int, indent: int, measure: Callable[[str], int], *, begin: int
) -> Iterator[Row]:
    """Yield the rows of `line[start:]`; the first is indented by `begin`, the others by `indent`."""
    room = width - begin
    while measure(line[start:]) > room:
        limit = _find_limit(line, start, room, measure)
        # Not inside the indentation or the columns before the text.
        lowest = start + (max(indent, 1) if start == 0 and begin == 0 else 1)
        end = line.rfind(" ", lowest, limit + 1)
        next_word = line[end + 1 :].partition(" ")[0]
        # A word that has to be broken anyway starts in this row.
        if end < 0 or measure(next_word) > width - indent:
            soft = max(line.rfind(c, max(lowest, end + 1), limit) + 1 for c in _SOFT_BREAKS)
            end = soft or (limit if end < 0 else end)
        yield Row(start, len(line[:end].rstrip(" ")), begin)
        start = end + len(line[end:]) - len(line[end:].lstrip(" "))
        begin, room = indent, width - indent
    if start < len(line):
        yield Row(start, len(line), begin)


def _find_limit(line: str, start: int, room: int, measure: Callable[[str], int]) -> int:
    """Return the end of the longest text from `start` that fits into `room` cells; at least one character."""
    end = min(len(line), start + room)
    while end > start + 1 and measure(line[start:end]) > room:
        end -= 1
    return end


def _wrap_command(
    line: str, text: int, width: int, indent: int, measure: Callable[[str], int]
) -> Iterator[Row]:
    """Yield the rows of a line with a command at `text`, broken only between its words."""
    quoted = [match.span() for match in _QUOTED.finditer(line, text)]
    spaces = [
        match.start()
        for match in _WORD_END.finditer(line, text)
        if not any(a < match.start() < b for a, b in quoted)
    ]
    start, begin = 0, 0
    previous: int | None = None
    for space in (*spaces, len(line)):
        tail = 0 if space == len(line) else len(CONTINUED)
        if previous is not None and begin + measure(line[start:space]) + tail > width:
            yield Row(start, previous, begin, CONTINUED)
            start, begin = previous + 1, indent
        previous = space
    yield Row(start, len(line), begin)
