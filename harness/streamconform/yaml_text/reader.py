"""Read YAML into plain values with line numbers.

Only a subset of YAML is accepted: one document, the core types of YAML 1.2 (no dates, no octal numbers; `NO`
is a string), no anchors, aliases, tags or duplicate keys, and at most 64 levels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from streamconform.errors import Problem, SourceError
from streamconform.files import MAX_TEXT, TooLargeError, read_regular

ValuePath = tuple[str | int, ...]


class Document(NamedTuple):
    """A YAML file's value, with the line number (counted from 1) of each path in it."""

    path: str
    value: Any
    lines: dict[ValuePath, int]

    def line(self, value_path: ValuePath) -> int | None:
        """Return the line number of `value_path`, or of its nearest ancestor that has one."""
        while value_path and value_path not in self.lines:
            value_path = value_path[:-1]
        return self.lines.get(value_path)

    def problem(self, value_path: ValuePath, message: str) -> Problem:
        """Return a problem with `message` at `value_path`'s line."""
        return Problem(self.path, self.line(value_path), message)


def read(path: Path) -> Document:
    """Return the document in `path`. Raises a `SourceError` that lists every problem in the file."""
    return parse(read_file(path, str(path)), str(path))


def read_file(path: Path, name: str) -> bytes:
    """Return the contents of `path`. Raises `SourceError` if it is unreadable or too large."""
    try:
        return read_regular(path, MAX_TEXT)
    except TooLargeError as error:
        raise SourceError((Problem(name, None, f"{error}; split it"),)) from error
    except OSError as error:
        raise SourceError((Problem(name, None, f"cannot be read: {error.strerror}"),)) from error


def parse(data: bytes, name: str) -> Document:
    """Return the document in `data`, called `name` in messages. Raises `SourceError` with every problem."""
    # Imported here, because most runs parse no YAML: what was parsed is kept.
    from streamconform.yaml_text import builder

    return builder.parse(data, name)
