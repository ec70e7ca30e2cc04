"""Specs on disk to cases: every mistake of every file at once, each with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamconform.errors import Problem, SelectionError, SourceError
from streamconform.model.case import Case, Expectation, Skip
from streamconform.model.cassette import Cassette
from streamconform.model.outcome import Usage
from streamconform.schemas import check
from streamconform.suite import cassettes, expectation, yaml_text
from streamconform.wire.apis import APIS

COMMON = "common"
"""Folder of the specs that belong to no api."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where specs and cassettes are."""

    specs: Path
    cassettes: Path


@dataclass(slots=True)
class Loaded:
    """What could be read, and what was wrong with the rest."""

    cases: list[Case] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    used: set[tuple[str, str]] = field(default_factory=set)
    """(api, cassette name) of every cassette that a case names."""


def load(sources: Sources) -> tuple[Case, ...]:
    """Return every case in the order of the files; raises `SourceError` with every problem."""
    loaded = collect(sources, spec_files(sources.specs))
    if loaded.problems:
        raise SourceError(tuple(loaded.problems))
    return tuple(loaded.cases)


def spec_files(folder: Path) -> list[Path]:
    """Return the spec files under `folder`, sorted: only folders named like an api, and `common`."""
    if not folder.is_dir():
        raise SelectionError(f"`{folder}` is not a folder; `--specs` names the folder that holds one per api")
    return [path for name in (*APIS, COMMON) for path in sorted((folder / name).glob("*.yaml"))]


def collect(sources: Sources, files: list[Path]) -> Loaded:
    """Return the cases in `files` and all that is wrong with them and with their cassettes."""
    loaded = Loaded()
    known: dict[tuple[str, str], Cassette | None] = {}
    for path in files:
        try:
            document = yaml_text.read(path)
        except SourceError as error:
            loaded.problems += error.problems
            continue
        problems = list(check("spec.v1", document))
        if not problems:
            problems += _naming(path, document)
        loaded.problems += problems
        if not problems:
            _cases(sources, path, document, known, loaded)
    return loaded


def _naming(path: Path, document: yaml_text.Document) -> Iterator[Problem]:
    spec = document.value
    if spec["api"] not in APIS:
        yield document.problem(
            ("api",), f"`{spec['api']}` is not judged by this version; known: {', '.join(APIS)}"
        )
    if spec["api"] != path.parent.name:
        yield document.problem(
            ("api",), f"`{spec['api']}` stands in the folder `{path.parent.name}`; they must agree"
        )
    if spec["topic"] != path.stem:
        yield document.problem(("topic",), f"`{spec['topic']}` stands in `{path.name}`; they must agree")
    first: dict[str, int | None] = {}
    for i, entry in enumerate(spec["cases"]):
        line = document.line(("cases", i, "id"))
        if entry["id"] in first:
            words = f"case `{entry['id']}` stands twice, first in line {first[entry['id']]}"
            yield document.problem(("cases", i, "id"), words)
        first.setdefault(entry["id"], line)


def _cases(
    sources: Sources,
    path: Path,
    document: yaml_text.Document,
    known: dict[tuple[str, str], Cassette | None],
    loaded: Loaded,
) -> None:
    spec = document.value
    for i, entry in enumerate(spec["cases"]):
        key = (spec["api"], entry["cassette"])
        loaded.used.add(key)
        if key not in known:
            known[key] = None
            try:
                known[key] = cassettes.load(sources.cassettes, *key)
            except SourceError as error:
                named = document.problem(
                    ("cases", i, "cassette"), f"cassette `{entry['cassette']}` cannot be used"
                )
                loaded.problems += [named, *error.problems]
        cassette = known[key]
        if cassette is not None:
            expect = expectation.parse(entry["expect"])
            line = document.line(("cases", i)) or 0
            loaded.cases.append(_case(spec, entry, expect, cassette, str(path), line))


def _case(
    spec: Mapping[str, Any],
    entry: Mapping[str, Any],
    expect: Expectation,
    cassette: Cassette,
    path: str,
    line: int,
) -> Case:
    skip = entry.get("skip")
    return Case(
        id=f"{spec['api']}/{spec['topic']}/{entry['id']}",
        api=spec["api"],
        title=entry["title"],
        cassette=cassette,
        expect=expect,
        level=entry.get("level", "must"),
        why=entry.get("why"),
        reviewed=entry.get("reviewed", True),
        tags=frozenset(entry.get("tags", ())),
        sources=tuple(entry.get("sources", ())),
        guards=tuple(entry.get("guards", ())),
        pricing=entry.get("pricing"),
        usage_seen=tuple(Usage(**seen) for seen in entry.get("usage_seen", ())),
        skip=None
        if skip is None
        else Skip(skip["why"], frozenset(skip.get("deliveries", ())), frozenset(skip.get("faults", ()))),
        path=path,
        line=line,
    )
