r"""Make untrusted text safe to print: escape non-printable characters, and limit its length. Pure.

Reports contain text from implementations, and messages quote servers and files. Control characters, line
terminators, text direction marks, lone surrogates and characters that XML forbids are written as escapes
such as `\u202e`, so that this text can neither move a terminal's cursor nor imitate a line in a report.
"""

from __future__ import annotations

import re
from typing import Final

LINE_WIDTH: Final = 60
"""Default limit for a value shown on one line of a report, in characters."""
_TAIL_WIDTH: Final = 10
"""Number of characters kept from the end of a shortened text: long texts often differ only there."""
_VARIABLE: Final = re.compile(
    r"""0x[0-9a-f]+|\b[0-9a-f]{8,}\b|(?<!\w)(?P<quote>['"`]).*?(?:(?P=quote)|$)|\d+""",
    re.IGNORECASE | re.DOTALL,
)
"""Matches the parts that vary between messages with the same cause: digits, hexadecimal numbers, strings.

A quoted string also matches without its closing quote, because long messages are truncated.
"""


def escape_unprintable(text: str) -> str:
    """Escape every character in `text` that Unicode does not classify as graphic, but keep spaces."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape_lines(text: str) -> str:
    """Escape each line of `text`, but keep the line breaks."""
    return "\n".join(map(escape_unprintable, text.split("\n")))


def escape_line(text: str, width: int = LINE_WIDTH) -> str:
    """Return `text` on one line: shortened in the middle to `width` characters, then escaped.

    Escapes can make the result longer than `width`.
    """
    if len(text) > width:
        text = f"{text[: width - _TAIL_WIDTH - 2]}…{text[-_TAIL_WIDTH:]}"
    return escape_unprintable(text)


def collapse_variables(message: str) -> str:
    """Return `message` without the parts that vary between occurrences of the same error."""
    return _VARIABLE.sub("…", message)
