"""Read `<specs>/kinds.yaml`: the kinds of bugs in clients, and the APIs and paths where each can occur."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.model.case import AnyCase, BehaviorCase, CallCase, Case, RoundTripCase
from streamconform.schemas import check_document
from streamconform.yaml_text import reader

CasePath = Literal["stream", "document", "request", "replay", "behavior"]
"""What an implementation does with an API in a case."""
PATHS: Final[tuple[CasePath, ...]] = get_args(CasePath)
FILE: Final = "kinds.yaml"


class Cell(NamedTuple):
    """An API, and what an implementation does with it."""

    api: str
    path: CasePath


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of bug. `excluded` gives the reason for each cell in which it cannot occur."""

    name: str
    group: str
    title: str
    paths: tuple[CasePath, ...]
    excluded: Mapping[Cell, str]
    path: str
    line: int | None

    @property
    def cells(self) -> Iterator[Cell]:
        """Yield the cells in which it can occur."""
        return (cell for api in APIS for path in self.paths if (cell := Cell(api, path)) not in self.excluded)


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds by name, and the headings of their groups, both in the order of the file."""

    groups: Mapping[str, str]
    entries: Mapping[str, Kind]


def find_path(case: AnyCase) -> CasePath | None:
    """Return what an implementation does in `case`, or None if that is something else."""
    match case:
        case Case():
            return "stream" if case.stream else "document"
        case RoundTripCase():
            return "replay"
        case BehaviorCase():
            return "behavior"
        case CallCase():
            return "request" if case.kind == "request" else None


def read_kinds(specs: Path) -> Kinds:
    """Return the kinds in `specs`. Raises a `SourceError` that lists every problem in the file."""
    document = reader.read(specs / FILE)
    problems = check_document("kinds.v1", document) or tuple(_check_names(document))
    if problems:
        raise SourceError(problems)
    groups: Mapping[str, str] = document.value["groups"]
    apis: Mapping[str, Mapping[str, Any]] = document.value["apis"]
    entries = {
        name: Kind(
            name,
            entry["group"],
            entry["title"],
            tuple(entry["paths"]),
            {
                Cell(api, path): reason
                for api, differs in apis.items()
                for place, reason in differs.get("excluded", {}).items()
                for path in _list_paths(place, name, entry["paths"])
            },
            document.path,
            document.line(("entries", name)),
        )
        for name, entry in document.value["entries"].items()
    }
    return Kinds(groups, entries)


def find_empty(kinds: Kinds, asked: Container[tuple[str, str, str]]) -> Iterator[Problem]:
    """Yield a problem for each cell that is neither excluded nor `asked`: a kind, an API and a path."""
    for kind in kinds.entries.values():
        for api, path in kind.cells:
            if (kind.name, api, path) not in asked:
                message = (
                    f"no mutant has `{kind.name}` in {api}, {path}; add one and a case that catches it, or"
                    " name in `excluded` what rules it out"
                )
                yield Problem(kind.path, kind.line, message)


def _list_paths(place: str, name: str, paths: Sequence[CasePath]) -> Iterator[CasePath]:
    """Yield the paths that `kind` or `kind/path` names, if it names the kind `name`."""
    kind, _, only = place.partition("/")
    return (path for path in paths if kind == name and only in ("", path))


def _check_names(document: reader.Document) -> Iterator[Problem]:
    """Yield the groups, APIs and kinds that do not exist, and the paths on which a kind never occurs."""
    entries = document.value["entries"]
    for name, entry in entries.items():
        if entry["group"] not in document.value["groups"]:
            yield document.problem(("entries", name, "group"), f"no group `{entry['group']}`")
    for api, differs in document.value["apis"].items():
        if api not in APIS:
            yield document.problem(("apis", api), f"no API `{api}`")
        for place in differs.get("excluded", {}):
            where = ("apis", api, "excluded", place)
            kind, _, path = place.partition("/")
            if kind not in entries:
                yield document.problem(where, f"no kind `{kind}`")
            elif path and path not in entries[kind]["paths"]:
                yield document.problem(where, f"`{kind}` occurs on no path `{path}`")
