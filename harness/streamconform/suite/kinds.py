"""Read `<specs>/kinds.yaml`: the kinds of bugs in clients, and the APIs and paths where each can occur."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.model.case import AnyCase, CallCase, Case
from streamconform.schemas import check_document
from streamconform.yaml_text import reader

CasePath = Literal["stream", "document", "request"]
"""What an implementation does with an API in a case."""
PATHS: Final[tuple[CasePath, ...]] = get_args(CasePath)
FILE: Final = "kinds.yaml"


class Cell(NamedTuple):
    """An API, and what an implementation does with it."""

    api: str
    path: CasePath


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of bug. `excluded` gives the reason for each cell in which it cannot occur.

    `open` are the cells in which no case catches a bug that mutants have.
    """

    name: str
    group: str
    title: str
    paths: tuple[CasePath, ...]
    excluded: Mapping[Cell, str]
    open: frozenset[Cell]

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
    if isinstance(case, Case):
        return "stream" if case.stream else "document"
    return "request" if isinstance(case, CallCase) and case.kind == "request" else None


def read_kinds(specs: Path) -> Kinds:
    """Return the kinds in `specs`. Raises a `SourceError` that lists every problem in the file."""
    document = reader.read(specs / FILE)
    problems = check_document("kinds.v1", document) or tuple(_check_names(document))
    if problems:
        raise SourceError(problems)
    groups: Mapping[str, str] = document.value["groups"]
    entries = {
        name: Kind(
            name,
            entry["group"],
            entry["title"],
            tuple(entry["paths"]),
            {
                cell: reason
                for place, reason in entry.get("excluded", {}).items()
                for cell in _list_cells(place, entry["paths"])
            },
            frozenset(cell for place in entry.get("open", ()) for cell in _list_cells(place, entry["paths"])),
        )
        for name, entry in document.value["entries"].items()
    }
    return Kinds(groups, entries)


def _list_cells(place: str, paths: tuple[CasePath, ...]) -> Iterator[Cell]:
    """Yield the cells that `api` or `api/path` names."""
    api, _, only = place.partition("/")
    return (Cell(api, path) for path in paths if only in ("", path))


def _check_names(document: reader.Document) -> Iterator[Problem]:
    """Yield the groups and APIs that do not exist, and the paths on which a kind does not occur anyway."""
    for name, entry in document.value["entries"].items():
        if entry["group"] not in document.value["groups"]:
            yield document.problem(("entries", name, "group"), f"no group `{entry['group']}`")
        places = [(("entries", name, "excluded", place), place) for place in entry.get("excluded", {})]
        places += [(("entries", name, "open", at), place) for at, place in enumerate(entry.get("open", ()))]
        for where, place in places:
            api, _, path = place.partition("/")
            if api not in APIS:
                yield document.problem(where, f"no API `{api}`")
            elif path and path not in entry["paths"]:
                yield document.problem(where, f"`{name}` does not occur on the path `{path}` in any API")
