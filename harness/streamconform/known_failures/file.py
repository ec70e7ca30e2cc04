"""The known-failures file: read, and amended line by line, so that reasons and comments stay as they are.

An entry is the lines from its `-` to the last one that is indented deeper. Other lines between entries, such
as comments, belong to nobody: they stay when an entry goes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform.known_failures.model import KnownFailure, KnownFailures
from streamconform.known_failures.update import Amendment
from streamconform.schemas import check
from streamconform.yaml_text import reader
from streamconform.yaml_text.reader import Document
from streamconform.yaml_text.writer import dump

SCHEMA: Final = "known-failures.v1"
EMPTY: Final = """\
# Failures that are known here: each with the reason and the issue about it. An entry that is no longer true
# fails the run. `conform schema known-failures.v1` has every field.
known-failures: 1
entries: []
"""
"""The file where there is none."""
HEAD: Final = "known-failures: 1\n"
"""The line that the implementation stands behind."""

LINE: Final = re.compile("[^\r\n\x85\u2028\u2029]*(?:\r\n|[\r\n\x85\u2028\u2029]|$)")
"""A line as YAML counts them."""
INLINE_EMPTY: Final = re.compile(r"(entries\s*:)\s*\[\s*\]")


def empty(implementation: str | None = None) -> bytes:
    """Return a file without entries, about one implementation or about every one."""
    head = "" if implementation is None else dump({"implementation": implementation}, "implementation")
    return EMPTY.replace(HEAD, HEAD + head).encode()


def parsed(document: Document) -> KnownFailures:
    """Return the entries of a document; raises `SourceError` with every problem."""
    problems = list(check(SCHEMA, document))
    if not problems:
        for i, entry in enumerate(document.value["entries"]):
            problems += _problems(document, i, entry)
    if problems:
        raise SourceError(tuple(problems))
    entries = tuple(
        KnownFailure(**entry, line=document.line(("entries", i)) or 0)
        for i, entry in enumerate(document.value["entries"])
    )
    return KnownFailures(document.path, entries, document.value.get("implementation"))


def _problems(document: Document, i: int, entry: dict[str, Any]) -> list[Problem]:
    found = []
    for sign in "@:":
        if entry["match"].count(sign) > 1:
            words = f"`{entry['match']}`: an id has one `{sign}`, so this matches nothing"
            found.append(document.problem(("entries", i, "match"), words))
    try:
        date.fromisoformat(entry.get("expires", "2000-01-01"))
    except ValueError:
        at = ("entries", i, "expires")
        found.append(document.problem(at, f"`{entry['expires']}` is no day of the calendar"))
    return found


def amended(data: bytes, name: str, change: Amendment) -> bytes:
    """Return the file `data` with `change` made in it, everything else as it was.

    Raises `SourceError` where entries do not stand in lines of their own. What comes out has been read
    again: it holds exactly the entries that `change` leaves.
    """
    document = reader.parse(data, name)
    known = parsed(document)
    lines = LINE.findall(data.decode())
    newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
    spans = _spans(document, lines, known)
    indent = " " * (len(lines[spans[0][0]]) - len(lines[spans[0][0]].lstrip(" "))) if spans else "  "
    new = lines[:]
    heading = (document.line(("entries",)) or 1) - 1
    last = spans[-1][1] if spans else heading + 1
    if change.added:
        new[last:last] = _written(change.added, indent, newline)
        if not new[last - 1].endswith(newline):
            new[last - 1] += newline
    for number, (start, end) in reversed([*enumerate(spans)]):
        if number in change.removed:
            new[start:end] = []
        elif number in change.narrowed:
            new[start:end] = _written(change.narrowed[number], indent, newline)
    left = change.applied(known.entries)
    if left:
        new[heading] = INLINE_EMPTY.sub(r"\1", new[heading])
    elif spans:
        new[heading] = re.sub(r"(entries\s*:)", r"\1 []", new[heading], count=1)
    made = "".join(new).encode()
    _must_hold(made, name, left)
    return made


def _spans(document: Document, lines: Sequence[str], known: KnownFailures) -> list[tuple[int, int]]:
    """Return for each entry the first of its lines and the one behind its last, from 0."""
    starts = []
    for entry in known.entries:
        start = entry.line - 1
        while start > 0 and not lines[start].lstrip().startswith("-"):
            start -= 1  # the dash may stand in a line of its own
        starts.append(start)
    spans = []
    for number, (entry, start) in enumerate(zip(known.entries, starts, strict=True)):
        own = [line for at, line in document.lines.items() if at[:2] == ("entries", number)]
        alone = lines[start].lstrip().startswith("-") and starts.count(start) == 1
        if not alone:
            words = f"`{entry.match}` shares its line; write each entry as `- match: …` in lines of its own"
            raise SourceError((document.problem(("entries", number), words),))
        spans.append((start, _end(lines, max(own), len(lines[start]) - len(lines[start].lstrip(" ")))))
    return spans


def _end(lines: Sequence[str], last: int, indent: int) -> int:
    """Return the number of the line behind an entry: what stands deeper than its dash belongs to it."""
    end = last
    for number in range(last, len(lines)):
        if lines[number].strip():
            if len(lines[number]) - len(lines[number].lstrip(" ")) <= indent:
                break
            end = number + 1
    return end


def _written(entries: Sequence[KnownFailure], indent: str, newline: str) -> list[str]:
    text = dump([_mapping(each) for each in entries], "entries")
    return [f"{indent}{line}{newline}" for line in text.splitlines()]


def _mapping(entry: KnownFailure) -> dict[str, Any]:
    return {name: value for name, value in asdict(entry).items() if name != "line" and value is not None}


def _must_hold(made: bytes, name: str, wanted: Sequence[KnownFailure]) -> None:
    """Refuse an amendment that does not read as it was meant: better no file than a wrong one."""
    try:
        got = [replace(each, line=0) for each in parsed(reader.parse(made, name)).entries]
    except SourceError:
        got = None
    if got != [replace(each, line=0) for each in wanted]:
        words = "cannot be amended as it is written; write each entry as `- match: …` in lines of its own"
        raise SourceError((Problem(name, None, words),))
