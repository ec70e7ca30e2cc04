"""YAML text to plain values with line numbers; the only place that reads YAML.

What is accepted is smaller than YAML: one document, the core types of YAML 1.2 (no dates, no octal,
`NO` is a string), no anchors, aliases or tags, no duplicate keys, at most 64 levels. A first, iterative
pass over the parser's events refuses what would be unsafe to compose: aliases can blow up, and deep
nesting crashes libyaml's binding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from streamconform.errors import Problem, SourceError

MAX_BYTES = 4 * 1024 * 1024
"""The largest YAML file that is read; the largest bundled one has under 200 kB."""
MAX_DEPTH = 64
MAX_PROBLEMS = 50
"""Syntax problems reported for one file: after that many the rest is noise."""

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?")
LEADING_ZERO = re.compile(r"[-+]?0[0-9xob]")
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
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceError((Problem(name, None, f"cannot be read: {error.strerror}"),)) from error
    if len(data) > MAX_BYTES:
        raise SourceError((Problem(name, None, f"larger than {MAX_BYTES} bytes; split the file"),))
    return parse(data, name)


def parse(data: bytes, name: str) -> Document:
    """Return the document in `data`; `name` is what problems call it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError((Problem(name, line, f"not UTF-8 at byte {error.start}"),)) from error
    try:
        problems = tuple(_refused(text, name))
        if problems:
            raise SourceError(problems)
        node = yaml.compose(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise SourceError((_syntax(error, name, data),)) from error
    if node is None:
        raise SourceError((Problem(name, 1, "the file is empty"),))
    lines: dict[Path_, int] = {}
    found: list[Problem] = []
    value = _construct(node, (), lines, found, name)
    if found:
        raise SourceError(tuple(found))
    return Document(name, value, lines)


def ambiguous(text: str) -> bool:
    """Return whether `text`, unquoted, would be read as something else than text, or be refused."""
    plain = NULLS | BOOLEANS.keys()
    return text in plain or any(each.match(text) for each in (INTEGER, FLOAT, LEADING_ZERO))


def _refused(text: str, name: str) -> Iterator[Problem]:
    """Yield what may not stand in any of our files, without building anything."""
    depth = count = documents = 0
    for event in yaml.parse(text, Loader=Loader):
        line = _line(event.start_mark)
        message = None
        if isinstance(event, yaml.AliasEvent):
            message = f"alias `*{event.anchor}`: write the value out, aliases are not allowed"
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            message = "a second document: one per file" if documents == 2 else None
        elif isinstance(event, yaml.NodeEvent):
            if event.anchor is not None:
                message = f"anchor `&{event.anchor}`: anchors are not allowed"
            else:
                tag = getattr(event, "tag", None)
                message = None if tag is None else f"tag `{tag}`: tags are not allowed, only plain values"
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                yield Problem(name, line, f"nested deeper than {MAX_DEPTH} levels")
                return
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if message is not None:
            yield Problem(name, line, message)
            count += 1
            if count == MAX_PROBLEMS:
                return


def _line(mark: Any) -> int:
    """Return the line of a mark, from 1; the binding types its marks as optional, they never are."""
    return int(mark.line) + 1


def _syntax(error: yaml.YAMLError, name: str, data: bytes) -> Problem:
    mark = getattr(error, "problem_mark", None)
    words = getattr(error, "problem", None) or str(error).splitlines()[0]
    context = getattr(error, "context", None)
    line = None if mark is None else mark.line + 1
    if isinstance(error, yaml.reader.ReaderError):  # a character that may not stand in YAML
        line = data.count(b"\n", 0, error.position) + 1
    return Problem(name, line, f"not YAML: {words}" + (f" ({context})" if context else ""))


def _construct(node: yaml.Node, at: Path_, lines: dict[Path_, int], found: list[Problem], name: str) -> Any:
    lines[at] = _line(node.start_mark)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, found, name)
    if isinstance(node, yaml.SequenceNode):
        return [_construct(child, (*at, i), lines, found, name) for i, child in enumerate(node.value)]
    value: dict[str, Any] = {}
    for key_node, child in node.value:
        line = _line(key_node.start_mark)
        if not isinstance(key_node, yaml.ScalarNode):
            found.append(Problem(name, line, "a mapping's key must be a word"))
            continue
        key = key_node.value
        if key in value:
            found.append(Problem(name, line, f"key `{key}` stands twice in one mapping"))
        value[key] = _construct(child, (*at, key), lines, found, name)
        lines[(*at, key)] = line
    return value


def _scalar(node: yaml.ScalarNode, found: list[Problem], name: str) -> Any:
    """Return the YAML 1.2 core value; quoted scalars are always text."""
    text = node.value
    if node.style:  # libyaml calls plain style "", PyYAML None
        return text
    if text in NULLS:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    if INTEGER.fullmatch(text):
        if len(text) <= 400:  # far beyond any count; int() on more is slow and refused by Python
            return int(text)
        found.append(Problem(name, _line(node.start_mark), "a number of more than 400 digits"))
        return None
    if LEADING_ZERO.match(text) and not text.strip("-+").startswith("0."):
        words = f"`{text}`: a number with a leading zero means different things to YAML readers; quote it"
        found.append(Problem(name, _line(node.start_mark), words))
        return None
    if FLOAT.fullmatch(text):
        number = float(text)
        if math.isfinite(number):
            return number
        found.append(
            Problem(name, _line(node.start_mark), f"`{text}`: a number beyond the range of a double")
        )
        return None
    return text
