"""Build values with line numbers from the events of PyYAML's parser; `reader` says what is accepted."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import yaml

from streamconform.errors import Problem, SourceError
from streamconform.files.json_text import MAX_VALUES, count_signs
from streamconform.yaml_text.reader import Document, ValuePath

MAX_DEPTH = 64
MAX_DIGITS = 400
"""The maximum number of digits in an integer: far more than a count needs, but below Python's limit of 4,300.
"""
MAX_PROBLEMS = 50
"""The maximum number of syntax problems reported per file; one mistake can cause thousands."""

# PyYAML has the faster parser only if it was built with libyaml.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9xob]")
_NUMBER_START = frozenset("+-.0123456789")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def parse(data: bytes, name: str) -> Document:
    """Return what `reader.parse` returns for the same arguments."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError((Problem(name, line, f"not UTF-8 at byte {error.start}"),)) from error
    # In block style, a value is on a line of its own.
    if count_signs(data) + data.count(b"\n") > MAX_VALUES:
        raise SourceError((Problem(name, None, f"more than {MAX_VALUES} values; split it"),))
    # Values are built from the parser's events, not composed by it: PyYAML would expand aliases without
    # bound, and deep nesting crashes libyaml's binding.
    builder = _Builder(name)
    try:
        _feed(builder, text)
    except yaml.YAMLError as error:
        builder.problems.append(_describe_syntax_error(error, name, data))
    if not (builder.documents or builder.problems):
        builder.problems.append(Problem(name, 1, "the file is empty"))
    if builder.problems:
        raise SourceError(tuple(builder.problems))
    return Document(name, builder.root, builder.lines)


def _feed(builder: _Builder, text: str) -> None:
    """Pass the parser events for `text` to `builder` until it rejects one."""
    loader = _Loader(text)
    try:
        get_event, handle_event = loader.get_event, builder.handle_event
        # Not `yaml.parse`, which peeks at each event before consuming it.
        while (event := get_event()) is not None and handle_event(event, event.start_mark.line + 1):
            if type(event) is yaml.StreamEndEvent:
                break
    finally:
        loader.dispose()


def is_ambiguous(text: str) -> bool:
    """Return whether `text`, if unquoted, would be rejected or read as something other than text."""
    words = _NULLS | _BOOLEANS.keys()
    return text in words or any(pattern.match(text) for pattern in (_INTEGER, _FLOAT, _LEADING_ZERO))


@dataclass(slots=True)
class _OpenCollection:
    """A mapping or sequence that has not ended yet; `key` is the key of its next value."""

    value: dict[str, Any] | list[Any]
    path: ValuePath
    key: str | None = None

    @property
    def expects_key(self) -> bool:
        """Whether the next event is a key in this mapping."""
        return isinstance(self.value, dict) and self.key is None


class _Builder:
    """Builds values from the parser's events without recursion, at any depth."""

    def __init__(self, name: str) -> None:
        self.root: Any = None
        self.lines: dict[ValuePath, int] = {}
        self.problems: list[Problem] = []
        self.documents = 0
        self._name = name
        self._open: list[_OpenCollection] = []

    def handle_event(self, event: Any, line: int) -> bool:
        """Handle the event that begins on `line`; return whether to continue."""
        # Exact types are compared, scalars first, for speed: the suite has 300,000 events.
        match type(event):
            case yaml.ScalarEvent:
                self._add_scalar(event, line)
            case yaml.MappingEndEvent | yaml.SequenceEndEvent:
                self._open.pop()
            case yaml.MappingStartEvent | yaml.SequenceStartEvent:
                return self._open_collection(event, line)
            case yaml.AliasEvent:
                self._report(line, f"alias `*{event.anchor}`: aliases are not allowed; repeat the value")
                self._add_value(None, line)
            case yaml.DocumentStartEvent:
                self.documents += 1
                if self.documents == 2:
                    return self._stop(line, "second YAML document; expected one per file")
            case _:  # document end, stream start and end
                pass
        return len(self.problems) < MAX_PROBLEMS

    def _reject_anchor_or_tag(self, event: Any, line: int) -> None:
        if event.anchor is not None:
            self._report(line, f"anchor `&{event.anchor}`: anchors are not allowed")
        elif event.tag is not None:
            self._report(line, f"tag `{event.tag}`: tags are not allowed; write a plain value")

    def _add_scalar(self, event: Any, line: int) -> None:
        if event.anchor is not None or event.tag is not None:
            self._reject_anchor_or_tag(event, line)
        parent = self._open[-1] if self._open else None
        if (
            parent is not None and parent.key is None and type(parent.value) is dict
        ):  # as `expects_key`, faster
            parent.key = key = event.value
            if key in parent.value:
                self._report(line, f"duplicate key `{key}`")
            self.lines[(*parent.path, key)] = line
            return
        try:
            # libyaml reports plain style as "", PyYAML's own parser as None.
            value = parse_scalar(event.value, plain=not event.style)
        except ValueError as error:
            self._report(line, str(error))
            value = None
        self._add_value(value, line)

    def _open_collection(self, event: Any, line: int) -> bool:
        if event.anchor is not None or event.tag is not None:
            self._reject_anchor_or_tag(event, line)
        parent = self._open[-1] if self._open else None
        if parent is not None and parent.expects_key:
            return self._stop(line, "a mapping key must be a scalar")
        if len(self._open) == MAX_DEPTH:
            return self._stop(line, f"nested deeper than {MAX_DEPTH} levels")
        value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_OpenCollection(value, self._add_value(value, line)))
        return True

    def _add_value(self, value: Any, line: int) -> ValuePath:
        """Add a value to the innermost open collection and return its path."""
        parent = self._open[-1] if self._open else None
        if parent is None:
            self.root = value
            self.lines[()] = line
            return ()
        if isinstance(parent.value, list):
            path = (*parent.path, len(parent.value))
            parent.value.append(value)
            self.lines[path] = line
            return path
        # The key is None only if it is an alias, which has already been reported.
        path = (*parent.path, parent.key or "")
        parent.value[parent.key or ""] = value
        parent.key = None
        return path

    def _report(self, line: int, message: str) -> None:
        self.problems.append(Problem(self._name, line, message))

    def _stop(self, line: int, message: str) -> bool:
        self._report(line, message)
        return False


def _describe_syntax_error(error: yaml.YAMLError, name: str, data: bytes) -> Problem:
    mark = getattr(error, "problem_mark", None)
    message = getattr(error, "problem", None) or str(error).splitlines()[0]
    context = getattr(error, "context", None)
    line = None if mark is None else mark.line + 1
    if isinstance(error, yaml.reader.ReaderError):  # a character that YAML does not allow
        line = data.count(b"\n", 0, error.position) + 1
    if "nesting depth" in message:  # since 0.2.6, libyaml has a limit, too, and looks ahead
        return Problem(name, line, f"nested deeper than {MAX_DEPTH} levels")
    return Problem(name, line, f"invalid YAML: {message}" + (f" ({context})" if context else ""))


def parse_scalar(text: str, *, plain: bool) -> Any:
    """Return `text` as a YAML 1.2 core value; a scalar that is not `plain` (quoted or a block) is text.

    Raises `ValueError`, with a message for the file's author, if YAML readers disagree about the value.
    """
    if not plain:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    # For speed: most scalars are words, and so need none of the regular expressions below.
    if text[0] not in _NUMBER_START:
        return text
    if _INTEGER.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(f"the number has more than {MAX_DIGITS} digits")
        return int(text)
    if _LEADING_ZERO.match(text) and not text.strip("-+").startswith("0."):
        raise ValueError(f"`{text}`: YAML readers disagree about a number with a leading zero; quote it")
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(f"`{text}`: the number is beyond the range of a double")
        return number
    return text
