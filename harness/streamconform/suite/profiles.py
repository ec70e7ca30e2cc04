"""Profiles: `<specs>/profiles/NAME.yaml`, frozen lists of cases with their deliveries and faults.

`next` is no file: it is every case that no profile lists, what a later profile may take in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform.errors import Problem, SelectionError, SourceError
from streamconform.model.trial import FaultSet
from streamconform.schemas import check_document
from streamconform.suite.select import closest
from streamconform.yaml_text import reader

FOLDER: Final = "profiles"
NEXT: Final = "next"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A list of case ids; `deliveries` and `faults` are None where it leaves them to the options."""

    name: str
    title: str
    frozen: bool
    cases: tuple[str, ...]
    deliveries: tuple[str, ...] | None
    faults: FaultSet | None


def profile(specs: Path, name: str, ids: Sequence[str]) -> Profile:
    """Return the profile `name` of the folder `specs`, whose cases are `ids`.

    Raises `SelectionError` where there is none of that name, and `SourceError` with every problem of its
    file: a case that does not exist is one. For `next` every profile is read.
    """
    files = {path.stem: path for path in profile_files(specs)}
    if name == NEXT:
        listed = {id_ for each in load_all(specs, ids) for id_ in each.cases}
        rest = tuple(id_ for id_ in ids if id_ not in listed)
        if not rest:
            raise SelectionError("`--profile next` holds no case: a profile lists every one")
        title = "What no profile lists yet"
        return Profile(name=NEXT, title=title, frozen=False, cases=rest, deliveries=None, faults=None)
    if name not in files:
        known = ", ".join(f"`{each}`" for each in (*files, NEXT))
        raise SelectionError(f"no profile `{name}` in `{specs / FOLDER}`; known are {known}")
    return _read(files[name], ids)


def load_all(specs: Path, ids: Sequence[str]) -> tuple[Profile, ...]:
    """Return every profile of `specs`; raises `SourceError` with every problem of every file."""
    loaded: list[Profile] = []
    problems: list[Problem] = []
    for path in profile_files(specs):
        try:
            loaded.append(_read(path, ids))
        except SourceError as error:
            problems += error.problems
    if problems:
        raise SourceError(tuple(problems))
    return tuple(loaded)


def profile_files(specs: Path) -> list[Path]:
    """Return the files of profiles, sorted."""
    return sorted((specs / FOLDER).glob("*.yaml"))


def _read(path: Path, ids: Sequence[str]) -> Profile:
    document = reader.read(path)
    problems = check_document("profile.v1", document) or tuple(_problems(path, document, ids))
    if problems:
        raise SourceError(problems)
    given = document.value
    return Profile(
        name=given["name"],
        title=given["title"],
        frozen=given["frozen"],
        cases=tuple(given["cases"]),
        deliveries=tuple(given["deliveries"]),
        faults=given["faults"],
    )


def _problems(path: Path, document: reader.Document, ids: Sequence[str]) -> Iterator[Problem]:
    name, listed = document.value["name"], document.value["cases"]
    if name != path.stem:
        yield document.problem(("name",), f"`{name}` stands in `{path.name}`; they must agree")
    if name == NEXT:
        yield document.problem(("name",), f"`{NEXT}` is every case that no profile lists; take another name")
    known = frozenset(ids)
    first: dict[str, int | None] = {}
    for i, id_ in enumerate(listed):
        at = ("cases", i)
        if id_ in first:
            yield document.problem(at, f"case `{id_}` stands twice, first in line {first[id_]}")
        elif id_ not in known:
            yield document.problem(at, f"no case `{id_}`{closest(id_, ids)}")
        first.setdefault(id_, document.line(at))
