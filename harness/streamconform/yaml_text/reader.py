"""YAML text to plain values with line numbers; the only place that reads YAML.

What is accepted is smaller than YAML: one document, the core types of YAML 1.2 (no dates, no octal,
`NO` is a string), no anchors, aliases or tags, no duplicate keys, at most 64 levels. Values are built from
the parser's events, and nothing is composed: aliases could blow up, and deep nesting crashes libyaml's
binding.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from streamconform.errors import Problem, SourceError

MAX_BYTES = 4 * 1024 * 1024
"""The largest YAML file that is read; the largest bundled one has under 200 kB."""
MAX_DEPTH = 64
MAX_DIGITS = 400
"""Of a whole number: far beyond any count, and Python refuses to read some thousands."""
MAX_PROBLEMS = 50
"""Syntax problems reported for one file: after that many the rest is noise."""

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?")
LEADING_ZERO = re.compile(r"[-+]?0[0-9xob]")
NUMBER_START = frozenset("+-.0123456789")
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}

Path_ = tuple[str | int, ...]


class Document(NamedTuple):
    """The value of a file and, for each path into it, the line (from 1) where it stands."""

    path: str
    value: Any
    lines: dict[Path_, int]

    def line(self, at: Path_) -> int | None:
        """Return the line of `at`, or of its nearest ancestor that has one."""
        while at and at not in self.lines:
            at = at[:-1]
        return self.lines.get(at)

    def problem(self, at: Path_, message: str) -> Problem:
        """Return `message` as a problem at the line of `at`."""
        return Problem(self.path, self.line(at), message)


def read(path: Path, shown: str | None = None) -> Document:
    """Return the document in `path`; raises `SourceError` with every problem found in it."""
    name = shown or str(path)
    return parse(read_bytes(path, name), name)


def read_bytes(path: Path, name: str) -> bytes:
    """Return what is in `path`, which problems call `name`; raises `SourceError` where that is too much."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceError((Problem(name, None, f"cannot be read: {error.strerror}"),)) from error
    if len(data) > MAX_BYTES:
        raise SourceError((Problem(name, None, f"larger than {MAX_BYTES} bytes; split the file"),))
    return data


def parse(data: bytes, name: str) -> Document:
    """Return the document in `data`; `name` is what problems call it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError((Problem(name, line, f"not UTF-8 at byte {error.start}"),)) from error
    builder = _Builder(name)
    try:
        for event in yaml.parse(text, Loader=Loader):
            if not builder.take(event, _line(event.start_mark)):
                break
    except yaml.YAMLError as error:
        builder.found.append(_syntax(error, name, data))
    if not (builder.documents or builder.found):
        builder.found.append(Problem(name, 1, "the file is empty"))
    if builder.found:
        raise SourceError(tuple(builder.found))
    return Document(name, builder.root, builder.lines)


def ambiguous(text: str) -> bool:
    """Return whether `text`, unquoted, would be read as something else than text, or be refused."""
    plain = NULLS | BOOLEANS.keys()
    return text in plain or any(each.match(text) for each in (INTEGER, FLOAT, LEADING_ZERO))


@dataclass(slots=True)
class _Open:
    """A mapping or sequence whose end has not come; `key` is that of the value that comes next."""

    value: dict[str, Any] | list[Any]
    at: Path_
    key: str | None = None


class _Builder:
    """Builds values from the parser's events, one after the other: no recursion, whatever the depth."""

    def __init__(self, name: str) -> None:
        self.root: Any = None
        self.lines: dict[Path_, int] = {}
        self.found: list[Problem] = []
        self.documents = 0
        self._name = name
        self._open: list[_Open] = []

    def take(self, event: Any, line: int) -> bool:
        """Take the event that begins in `line`; return whether to go on."""
        # Most events are scalars, and types are compared exactly: a suite has 300,000 events.
        match type(event):
            case yaml.ScalarEvent:
                self._scalar(event, line)
            case yaml.MappingEndEvent | yaml.SequenceEndEvent:
                self._open.pop()
            case yaml.MappingStartEvent | yaml.SequenceStartEvent:
                return self._begin(event, line)
            case yaml.AliasEvent:
                self._problem(line, f"alias `*{event.anchor}`: write the value out, aliases are not allowed")
                self._put(None, line)
            case yaml.DocumentStartEvent:
                self.documents += 1
                if self.documents == 2:
                    return self._stop(line, "a second document: one per file")
            case _:  # the ends of documents and streams
                pass
        return len(self.found) < MAX_PROBLEMS

    def _check(self, event: Any, line: int) -> None:
        """Report an anchor or a tag."""
        if event.anchor is not None:
            self._problem(line, f"anchor `&{event.anchor}`: anchors are not allowed")
        elif event.tag is not None:
            self._problem(line, f"tag `{event.tag}`: tags are not allowed, only plain values")

    def _scalar(self, event: Any, line: int) -> None:
        if event.anchor is not None or event.tag is not None:
            self._check(event, line)
        inside = self._open[-1] if self._open else None
        if inside is not None and isinstance(inside.value, dict) and inside.key is None:
            inside.key = event.value
            if event.value in inside.value:
                self._problem(line, f"key `{event.value}` stands twice in one mapping")
            self.lines[(*inside.at, event.value)] = line
            return
        try:
            value = scalar(event.value, plain=not event.style)  # libyaml calls plain style "", PyYAML None
        except ValueError as error:
            self._problem(line, str(error))
            value = None
        self._put(value, line)

    def _begin(self, event: Any, line: int) -> bool:
        if event.anchor is not None or event.tag is not None:
            self._check(event, line)
        inside = self._open[-1] if self._open else None
        if inside is not None and isinstance(inside.value, dict) and inside.key is None:
            return self._stop(line, "a mapping's key must be a word")
        if len(self._open) == MAX_DEPTH:
            return self._stop(line, f"nested deeper than {MAX_DEPTH} levels")
        value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_Open(value, self._put(value, line)))
        return True

    def _put(self, value: Any, line: int) -> Path_:
        """Put a value where it belongs and return its path."""
        inside = self._open[-1] if self._open else None
        if inside is None:
            self.root = value
            self.lines[()] = line
            return ()
        if isinstance(inside.value, list):
            at = (*inside.at, len(inside.value))
            inside.value.append(value)
            self.lines[at] = line
            return at
        at = (*inside.at, inside.key or "")
        inside.value[inside.key or ""] = value
        inside.key = None
        return at

    def _problem(self, line: int, message: str) -> None:
        self.found.append(Problem(self._name, line, message))

    def _stop(self, line: int, message: str) -> bool:
        self._problem(line, message)
        return False


def _line(mark: Any) -> int:
    """Return the line of a mark, from 1; the binding types its marks as optional, but they never are."""
    return int(mark.line) + 1


def _syntax(error: yaml.YAMLError, name: str, data: bytes) -> Problem:
    mark = getattr(error, "problem_mark", None)
    words = getattr(error, "problem", None) or str(error).splitlines()[0]
    context = getattr(error, "context", None)
    line = None if mark is None else mark.line + 1
    if isinstance(error, yaml.reader.ReaderError):  # a character that may not stand in YAML
        line = data.count(b"\n", 0, error.position) + 1
    return Problem(name, line, f"not YAML: {words}" + (f" ({context})" if context else ""))


def scalar(text: str, *, plain: bool) -> Any:
    """Return the YAML 1.2 core value of `text`; what is not `plain` (quoted, a block) is always text.

    Raises `ValueError`, with words for the author, where readers of YAML do not agree.
    """
    if not plain:
        return text
    if text in NULLS:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    if text[0] not in NUMBER_START:
        return text
    if INTEGER.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(f"a number of more than {MAX_DIGITS} digits")
        return int(text)
    if LEADING_ZERO.match(text) and not text.strip("-+").startswith("0."):
        words = "a number with a leading zero means different things to YAML readers; quote it"
        raise ValueError(f"`{text}`: {words}")
    if FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(f"`{text}`: a number beyond the range of a double")
        return number
    return text
