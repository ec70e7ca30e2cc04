"""Read the known-failures file, and edit it line by line, so that reasons and comments are preserved.

An entry extends from the line with its `-` to the last line with deeper indentation. Other lines between
entries, such as comments, belong to no entry and are kept when an entry is removed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform.known_failures.model import Entry, KnownCause, KnownFailure, KnownFailures
from streamconform.known_failures.update import Amendment
from streamconform.schemas import check_document
from streamconform.yaml_text import reader
from streamconform.yaml_text.reader import Document
from streamconform.yaml_text.writer import dump

SCHEMA: Final = "known-failures.v1"
EMPTY: Final = """\
# Known failures, each with its reason and its issue. An entry that is out of date fails the run.
# `conform schema known-failures.v1` describes every field.
known-failures: 1
entries: []
"""
"""The contents of a new file."""
SEPARATE: Final = "write each entry as `- cause: …` or `- match: …` on lines of its own"
VERSION_LINE: Final = "known-failures: 1\n"
"""The line after which `implementation` is inserted."""

LINE: Final = re.compile("[^\r\n\x85\u2028\u2029]*(?:\r\n|[\r\n\x85\u2028\u2029]|$)")
"""Matches one line, with any line ending that YAML allows."""
TRIALS: Final = re.compile(r"(\btrials[\"']?\s*:\s*)\d+")
INLINE_EMPTY: Final = re.compile(r"(entries\s*:)\s*\[\s*\]")


def create_empty(implementation: str | None = None) -> bytes:
    """Return a file with no entries, for one implementation or for all."""
    line = "" if implementation is None else dump({"implementation": implementation}, "implementation")
    return EMPTY.replace(VERSION_LINE, VERSION_LINE + line).encode()


def parse_document(document: Document) -> KnownFailures:
    """Parse a known-failures document. Raises `SourceError` with every problem."""
    problems = list(check_document(SCHEMA, document))
    if not problems:
        for i, entry in enumerate(document.value["entries"]):
            problems += _find_problems(document, i, entry)
    if problems:
        raise SourceError(tuple(problems))
    entries = tuple(
        (KnownCause if "cause" in entry else KnownFailure)(**entry, line=document.line(("entries", i)) or 0)
        for i, entry in enumerate(document.value["entries"])
    )
    declares = document.value.get("declares")
    return KnownFailures(
        document.path,
        entries,
        document.value.get("implementation"),
        document.value.get("scope"),
        None if declares is None else {api: tuple(names) for api, names in declares.items()},
        document.line(("declares",)),
    )


def _find_problems(document: Document, i: int, entry: dict[str, Any]) -> list[Problem]:
    problems = []
    for sign in "@:":
        if entry.get("match", "").count(sign) > 1:
            message = f"`{entry['match']}` matches nothing: an id has only one `{sign}`"
            problems.append(document.problem(("entries", i, "match"), message))
    try:
        date.fromisoformat(entry.get("expires", "2000-01-01"))
    except ValueError:
        path = ("entries", i, "expires")
        problems.append(document.problem(path, f"`{entry['expires']}` is not a valid date"))
    return problems


def apply_amendment(data: bytes, name: str, change: Amendment) -> bytes:
    """Return `data` (the file's bytes) with `change` applied and every other byte unchanged.

    Raises `SourceError` if an entry shares a line with something else. The edited text is parsed again to
    make sure that it contains exactly the entries that `change` should leave.
    """
    document = reader.parse(data, name)
    known = parse_document(document)
    lines = LINE.findall(data.decode())
    newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
    spans = _find_spans(document, lines, known)
    indent = " " * _measure_indent(lines[spans[0][0]]) if spans else "  "
    edited = lines[:]
    for index, count in change.counted.items():
        number = (document.line(("entries", index, "trials")) or 1) - 1
        edited[number] = TRIALS.sub(rf"\g<1>{count}", edited[number], count=1)
    heading = (document.line(("entries",)) or 1) - 1
    insert_at = spans[-1][1] if spans else heading + 1
    # Done before the other edits: new entries come after all spans, so the spans stay valid.
    if change.added:
        edited[insert_at:insert_at] = _format_entries(change.added, indent, newline)
        # The last line of a file may have no line end.
        if not edited[insert_at - 1].endswith(newline):
            edited[insert_at - 1] += newline
    # Edited backwards, so that the spans of earlier entries stay valid.
    for index, (start, end) in reversed([*enumerate(spans)]):
        if index in change.removed:
            edited[start:end] = []
        elif index in change.narrowed:
            edited[start:end] = _format_entries(change.narrowed[index], indent, newline)
    remaining = change.apply(known.entries)
    if remaining:
        # A list written as `[]` cannot have items below it.
        edited[heading] = INLINE_EMPTY.sub(r"\1", edited[heading])
    elif spans:
        edited[heading] = re.sub(r"(entries\s*:)", r"\1 []", edited[heading], count=1)
    if change.scope is not None:
        edited[heading:heading] = _format_lines(dump({"scope": dict(change.scope)}, "scope"), "", newline)
    result = "".join(edited).encode()
    _verify(result, name, remaining)
    return result


def _find_spans(document: Document, lines: Sequence[str], known: KnownFailures) -> list[tuple[int, int]]:
    """Return the numbers of each entry's first line and of the line after its last, counted from 0."""
    starts = []
    for entry in known.entries:
        start = entry.line - 1
        while start > 0 and not lines[start].lstrip().startswith("-"):
            start -= 1  # the dash may be on a separate line
        starts.append(start)
    spans = []
    for index, (entry, start) in enumerate(zip(known.entries, starts, strict=True)):
        entry_lines = [line for path, line in document.lines.items() if path[:2] == ("entries", index)]
        separate = lines[start].lstrip().startswith("-") and starts.count(start) == 1
        if not separate:
            message = f"{entry.name} shares its line with other text; {SEPARATE}"
            raise SourceError((document.problem(("entries", index), message),))
        spans.append((start, _find_end(lines, max(entry_lines), _measure_indent(lines[start]))))
    return spans


def _find_end(lines: Sequence[str], last: int, indent: int) -> int:
    """Return the number of the line after an entry; an entry's lines are indented deeper than its dash."""
    end = last
    for number in range(last, len(lines)):
        if lines[number].strip():
            if _measure_indent(lines[number]) <= indent:
                break
            end = number + 1
    return end


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _format_entries(entries: Sequence[Entry], indent: str, newline: str) -> list[str]:
    return _format_lines(dump([_to_mapping(entry) for entry in entries], "entries"), indent, newline)


def _format_lines(text: str, indent: str, newline: str) -> list[str]:
    return [f"{indent}{line}{newline}" for line in text.splitlines()]


def _to_mapping(entry: Entry) -> dict[str, Any]:
    return {name: value for name, value in asdict(entry).items() if name != "line" and value is not None}


def _verify(data: bytes, name: str, expected: Sequence[Entry]) -> None:
    """Raise `SourceError` unless `data` contains exactly the `expected` entries, so that no entry is lost."""
    try:
        actual = [replace(entry, line=0) for entry in parse_document(reader.parse(data, name)).entries]
    except SourceError:
        actual = None
    if actual != [replace(entry, line=0) for entry in expected]:
        message = f"cannot be updated as written; {SEPARATE}"
        raise SourceError((Problem(name, None, message),))
