"""Read `<specs>/evidence/API.yaml`: facts that support cases.

A fact is written once and cited by name in the `evidence` of every case that it supports. `wire.yaml`
contains the facts that apply to every API, such as the rules for event streams and for JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from streamconform.errors import Problem, SourceError
from streamconform.model.case import AnyCase
from streamconform.schemas import check_document
from streamconform.suite.threads import Thread, read_threads
from streamconform.yaml_text import reader

EvidenceKind = Literal["documented", "observed", "reported"]
KINDS: Final[tuple[EvidenceKind, ...]] = get_args(EvidenceKind)
"""How something is known: from a provider's page, from a recording, or from a bug report."""
SHARED: Final = "wire"
"""The name of the file with the facts shared by all APIs."""
_EVIDENCE_FOLDER: Final = "evidence"
_WHOLE_REPOSITORY: Final = re.compile(r"https?://(www\.)?(github|gitlab)\.com/[^/]+/[^/]+/?")
# Each page of these references describes one type or one operation, so an anchor would add nothing.
_ONE_SUBJECT: Final = re.compile(
    r"https?://(docs\.aws\.amazon\.com/.*API_|github\.com/.+/(issues|pull|discussions)/|google\.aip\.dev/)"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A documented statement (`source` is the page), or an observation (`observed` names the recording)."""

    says: str
    read: str
    """The date when the page or the recording was read, as YYYY-MM-DD."""
    source: str | None = None
    observed: str | None = None
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Cited:
    """A fact or a thread, and the cases that cite it in `evidence` or `guards`."""

    kind: EvidenceKind
    name: str
    says: str | None
    source: str | None
    """The page or the recording; None for a thread, whose name leads to it."""
    read: str
    path: str
    line: int
    cases: tuple[str, ...]


def read_facts(specs: Path, api: str) -> Mapping[str, Fact]:
    """Return the facts of `api` and the shared ones by name; a missing file counts as empty.

    Raises a `SourceError` that lists every problem in both files.
    """
    facts: dict[str, Fact] = {}
    problems: list[Problem] = []
    for name in dict.fromkeys((SHARED, api)):
        path = specs / _EVIDENCE_FOLDER / f"{name}.yaml"
        if not path.exists():
            continue
        try:
            document = reader.read(path)
        except SourceError as error:
            problems += error.problems
            continue
        found = check_document("evidence.v1", document) or tuple(_check_sources(document))
        if found:
            problems += found
            continue
        for key, entry in document.value["facts"].items():
            if key in facts:
                message = f"fact `{key}` is also in `{SHARED}.yaml`; choose another name"
                problems.append(document.problem(("facts", key), message))
            facts[key] = Fact(
                says=entry["says"],
                read=entry["read"],
                source=entry.get("source"),
                observed=entry.get("observed"),
                path=document.path,
                line=document.line(("facts", key)) or 0,
            )
    if problems:
        raise SourceError(tuple(problems))
    return facts


def find_facts(specs: Path, cases: Iterable[AnyCase]) -> dict[str, tuple[Fact, ...]]:
    """Return each case's facts by case id; unreadable facts are left out, because lint reports them."""
    by_api: dict[str, Mapping[str, Fact]] = {}
    facts = {}
    for case in cases:
        if not case.evidence:
            continue
        api = case.id.partition("/")[0]
        if api not in by_api:
            try:
                by_api[api] = read_facts(specs, api)
            except SourceError:
                by_api[api] = {}
        facts[case.id] = tuple(by_api[api][name] for name in case.evidence if name in by_api[api])
    return facts


def list_cited(specs: Path, cases: Iterable[AnyCase]) -> tuple[Cited, ...]:
    """Return what the cases cite, by kind, and within a kind in the order of the files.

    Raises a `SourceError` if a file with evidence, or the table of threads, cannot be read.
    """
    by_api: dict[str, Mapping[str, Fact]] = {}
    threads = read_threads(specs)
    entries: dict[tuple[str, int], tuple[str, Fact | Thread]] = {}
    cited_by: dict[tuple[str, int], list[str]] = {}
    for case in cases:
        api = case.id.partition("/")[0]
        if api not in by_api:
            by_api[api] = read_facts(specs, api)
        named = [(name, by_api[api].get(name)) for name in case.evidence]
        for name, entry in (*named, *((bug, threads.get(bug)) for bug in case.guards)):
            if entry is not None:
                place = (entry.path, entry.line)
                entries[place] = (name, entry)
                cited_by.setdefault(place, []).append(case.id)
    cited = (_describe_cited(*entry, tuple(cited_by[place])) for place, entry in sorted(entries.items()))
    return tuple(sorted(cited, key=lambda each: KINDS.index(each.kind)))


def _describe_cited(name: str, entry: Fact | Thread, cases: tuple[str, ...]) -> Cited:
    if isinstance(entry, Thread):
        return Cited("reported", name, entry.says, None, entry.looked_up, entry.path, entry.line, cases)
    kind: EvidenceKind = "documented" if entry.source else "observed"
    source = entry.source or entry.observed
    return Cited(kind, name, entry.says, source, entry.read, entry.path, entry.line, cases)


def _check_sources(document: reader.Document) -> Iterator[Problem]:
    """Yield the sources that name a site but not where on that site the fact is stated."""
    for key, entry in document.value["facts"].items():
        source = entry.get("source")
        if source is None:
            continue
        if _WHOLE_REPOSITORY.fullmatch(source):
            message = f"`{source}` is a whole repository; link the file and line, or the thread"
        elif "#" not in source and not _ONE_SUBJECT.match(source):
            message = f"`{source}` has no anchor; link the section that states the fact"
        else:
            continue
        yield document.problem(("facts", key, "source"), message)
