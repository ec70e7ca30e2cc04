"""Specs on disk to cases: every mistake of every file at once, each with its line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamconform.apis import APIS
from streamconform.errors import Problem, SelectionError, SourceError
from streamconform.model.case import NOTHING_EXPECTED, AnyCase, CallCase, Case, RoundTripCase, Skip
from streamconform.model.cassette import Cassette
from streamconform.model.outcome import Usage
from streamconform.schemas import check_document
from streamconform.suite import cassettes, expectation, request_expectation
from streamconform.yaml_text import reader

STREAM = "stream"
"""The kind of a spec that names none."""
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

    cases: list[AnyCase] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    used: set[tuple[str, str]] = field(default_factory=set)
    """(api, cassette name) of every cassette that a case names."""
    ids: Collection[str] | None = None
    """The cases to load; None: all."""

    def entries(self, document: reader.Document) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the entries of a spec that are to be loaded, each with its number."""
        for i, entry in enumerate(document.value["cases"]):
            if self.ids is None or _case_id(document.value, entry) in self.ids:
                yield i, entry


def load(
    sources: Sources, files: Sequence[Path] | None = None, ids: Collection[str] | None = None
) -> tuple[AnyCase, ...]:
    """Return the cases `ids` in `files`, in the order of the files; by default every case of every file.

    Raises `SourceError` with every problem of the files, and of the cassettes that these cases name.
    """
    loaded = collect(sources, spec_files(sources.specs) if files is None else files, ids)
    if loaded.problems:
        raise SourceError(tuple(loaded.problems))
    return tuple(loaded.cases)


def spec_files(folder: Path) -> list[Path]:
    """Return the spec files under `folder`, sorted: only folders named like an api, and `common`."""
    if not folder.is_dir():
        raise SelectionError(f"`{folder}` is not a folder; `--specs` names the folder that holds one per api")
    return [path for name in (*APIS, COMMON) for path in sorted((folder / name).glob("*.yaml"))]


def collect(sources: Sources, files: Sequence[Path], ids: Collection[str] | None = None) -> Loaded:
    """Return the cases in `files`, and every problem of the files and of the cassettes their cases name.

    With `ids`, the files are checked as a whole, but only these cases are made and only their cassettes read.
    """
    loaded = Loaded(ids=ids)
    known: dict[tuple[str, str], Cassette | None] = {}
    for path in files:
        try:
            document = reader.read(path)
        except SourceError as error:
            loaded.problems += error.problems
            continue
        problems = list(check_document("spec.v1", document))
        if not problems:
            problems += [*_naming(path, document), *_matchers(document)]
        loaded.problems += problems
        if problems:
            continue
        match document.value.get("kind", STREAM):
            case "stream":
                _streams(sources, path, document, known, loaded)
            case "round_trip":
                _round_trips(sources, path, document, known, loaded)
            case _:
                loaded.cases += _calls(path, document, loaded)
    return loaded


def _naming(path: Path, document: reader.Document) -> Iterator[Problem]:
    spec, folder = document.value, path.parent.name
    api = spec.get("api")
    if api is not None and api != folder:
        yield document.problem(("api",), f"`{api}` stands in the folder `{folder}`; they must agree")
    if api is None and folder != COMMON:
        words = (
            f"a spec of kind `{spec['kind']}` belongs to no api: it stands in `{COMMON}`, not in `{folder}`"
        )
        yield document.problem(("kind",), words)
    if spec["topic"] != path.stem:
        yield document.problem(("topic",), f"`{spec['topic']}` stands in `{path.name}`; they must agree")
    first: dict[str, int | None] = {}
    for i, entry in enumerate(spec["cases"]):
        line = document.line(("cases", i, "id"))
        if entry["id"] in first:
            words = f"case `{entry['id']}` stands twice, first in line {first[entry['id']]}"
            yield document.problem(("cases", i, "id"), words)
        first.setdefault(entry["id"], line)


def _matchers(document: reader.Document) -> Iterator[Problem]:
    """Yield the matchers in expected requests that are none."""
    kind = document.value.get("kind", STREAM)
    within = {"request": ("expect",), "round_trip": ("expect", "request")}.get(kind, ())
    for i, entry in enumerate(document.value["cases"] if within else ()):
        expect = entry["expect"] if kind == "request" else entry["expect"]["request"]
        for name in ("must", "may"):
            for at, words in request_expectation.faults(expect.get(name, {}), (name,)):
                yield document.problem(("cases", i, *within, *at), f"`{'.'.join(map(str, at))}`: {words}")


def _streams(
    sources: Sources,
    path: Path,
    document: reader.Document,
    known: dict[tuple[str, str], Cassette | None],
    loaded: Loaded,
) -> None:
    for i, entry in loaded.entries(document):
        cassette = _cassette(sources, document, ("cases", i, "cassette"), known, loaded)
        if cassette is not None:
            loaded.cases.append(_stream(cassette.api, entry, cassette, _head(path, document, i)))


def _round_trips(
    sources: Sources,
    path: Path,
    document: reader.Document,
    known: dict[tuple[str, str], Cassette | None],
    loaded: Loaded,
) -> None:
    for i, entry in loaded.entries(document):
        answers = [
            _cassette(sources, document, ("cases", i, "cassettes", n), known, loaded) for n in range(2)
        ]
        first, second = answers
        if first is not None and second is not None:
            loaded.cases.append(_round_trip(entry, first, second, _head(path, document, i)))


def _cassette(
    sources: Sources,
    document: reader.Document,
    at: tuple[str | int, ...],
    known: dict[tuple[str, str], Cassette | None],
    loaded: Loaded,
) -> Cassette | None:
    """Return the cassette whose name stands at a place of a spec; None where it cannot be used."""
    name = document.value
    for step in at:
        name = name[step]
    key = (document.value["api"], name)
    loaded.used.add(key)
    if key not in known:
        known[key] = None
        try:
            known[key] = cassettes.load(sources.cassettes, *key)
        except SourceError as error:
            loaded.problems += [document.problem(at, f"cassette `{name}` cannot be used"), *error.problems]
    return known[key]


def _calls(path: Path, document: reader.Document, loaded: Loaded) -> Iterator[CallCase]:
    spec = document.value
    for i, entry in loaded.entries(document):
        request = spec["kind"] == "request"
        expect = request_expectation.parse if request else expectation.output
        yield CallCase(
            api=spec.get("api"),
            kind=spec["kind"],
            input=entry["conversation" if request else "input"],
            expect=expect(entry["expect"]),
            **_head(path, document, i),
        )


def _head(path: Path, document: reader.Document, number: int) -> dict[str, Any]:
    """Return the fields that a case of any kind has, but the api."""
    spec = document.value
    entry = spec["cases"][number]
    return {
        "id": _case_id(spec, entry),
        "title": entry["title"],
        "level": entry.get("level", "must"),
        "why": entry.get("why"),
        "reviewed": entry.get("reviewed", True),
        "tags": frozenset(entry.get("tags", ())),
        "sources": tuple(entry.get("sources", ())),
        "guards": tuple(entry.get("guards", ())),
        "path": str(path),
        "line": document.line(("cases", number)) or 0,
    }


def _case_id(spec: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    return f"{spec.get('api', COMMON)}/{spec['topic']}/{entry['id']}"


def _stream(api: str, entry: Mapping[str, Any], cassette: Cassette, head: Mapping[str, Any]) -> Case:
    skip = entry.get("skip")
    return Case(
        api=api,
        cassette=cassette,
        expect=expectation.parse(entry["expect"]),
        pricing=entry.get("pricing"),
        usage_seen=tuple(Usage(**seen) for seen in entry.get("usage_seen", ())),
        skip=None
        if skip is None
        else Skip(skip["why"], frozenset(skip.get("deliveries", ())), frozenset(skip.get("faults", ()))),
        **head,
    )


def _round_trip(
    entry: Mapping[str, Any], first: Cassette, second: Cassette, head: Mapping[str, Any]
) -> RoundTripCase:
    expect, priced = entry["expect"], {"pricing": entry.get("pricing"), **head}
    before = expectation.parse(expect["first"]) if "first" in expect else NOTHING_EXPECTED
    after = expectation.parse(expect["outcome"])
    return RoundTripCase(
        api=first.api,
        first=Case(api=first.api, cassette=first, expect=before, **priced),
        second=Case(api=second.api, cassette=second, expect=after, **priced),
        conversation=entry["conversation"],
        results=tuple(entry["results"]),
        request=request_expectation.parse(expect["request"]),
        **head,
    )
