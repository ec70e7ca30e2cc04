"""Read profiles: `<specs>/profiles/NAME.yaml`, frozen lists of cases with their deliveries and faults.

A name without a release, such as `core`, denotes the newest frozen profile of that name. The profile `next`
has no file: it consists of the cases that are not in any profile yet, which are candidates for a later one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from streamconform.errors import Problem, SelectionError, SourceError
from streamconform.model.result import RULES
from streamconform.model.trial import FaultSet, get_current_name
from streamconform.schemas import check_document
from streamconform.suggestions import suggest
from streamconform.suite.select import suggest_cases
from streamconform.yaml_text import reader

_PROFILES_FOLDER: Final = "profiles"
NEXT_PROFILE: Final = "next"


class Profile(Struct, frozen=True, kw_only=True):
    """A list of case ids; `deliveries` and `faults` are None if the command-line options determine them."""

    name: str
    title: str
    frozen: bool
    cases: tuple[str, ...]
    rules: int = RULES
    """The version of the rules for verdicts by which it is judged."""
    deliveries: tuple[str, ...] | None
    faults: FaultSet | None


def load_profile(specs: Path, name: str, ids: Sequence[str]) -> Profile:
    """Return the profile `name` in the folder `specs`; `ids` are the ids of all cases.

    If there is no file with that name, the newest frozen `NAME-YEAR.NUMBER` is returned. For `next`, all
    profiles are read. Raises `SelectionError` for an unknown name, and `SourceError` with every problem in
    the profile's file, including unknown cases.
    """
    files = {path.stem: path for path in list_profile_files(specs)}
    if name == NEXT_PROFILE:
        assigned = {id_ for profile in load_profiles(specs, ids) for id_ in profile.cases}
        rest = tuple(id_ for id_ in ids if id_ not in assigned)
        if not rest:
            raise SelectionError("`--profile next` selects nothing: every case is in a profile")
        title = "Cases in no profile yet"
        return Profile(name=NEXT_PROFILE, title=title, frozen=False, cases=rest, deliveries=None, faults=None)
    if name in files:
        return _read_profile(files[name], ids)
    for path in _list_releases(files, name):
        profile = _read_profile(path, ids)
        if profile.frozen:
            return profile
    known = list_profile_names(specs)
    hint = suggest(name, known) or f"; available: {', '.join(f'`{known_name}`' for known_name in known)}"
    raise SelectionError(f"no profile `{name}` in `{specs / _PROFILES_FOLDER}`{hint}")


def load_profiles(specs: Path, ids: Sequence[str]) -> tuple[Profile, ...]:
    """Return all profiles in `specs`. Raises a `SourceError` that lists every problem in every file."""
    loaded: list[Profile] = []
    problems: list[Problem] = []
    for path in list_profile_files(specs):
        try:
            loaded.append(_read_profile(path, ids))
        except SourceError as error:
            problems += error.problems
    if problems:
        raise SourceError(tuple(problems))
    return tuple(loaded)


def find_release(specs: Path, name: str) -> str | None:
    """Return the newest release of the profile `name`, such as `core-2026.2`, or None if there is none."""
    releases = _list_releases({path.stem: path for path in list_profile_files(specs)}, name)
    return releases[0].stem if releases else None


def list_profile_files(specs: Path) -> list[Path]:
    """Return the profile files, sorted."""
    return sorted((specs / _PROFILES_FOLDER).glob("*.yaml"))


def list_profile_names(specs: Path) -> tuple[str, ...]:
    """Return every name that `load_profile` accepts: profiles without a release, all releases, and `next`."""
    releases = [path.stem for path in list_profile_files(specs)]
    names = (re.sub(r"-[0-9]{4}\.[0-9]+$", "", release) for release in releases)
    return tuple(dict.fromkeys((*names, *releases, NEXT_PROFILE)))


def _list_releases(files: Mapping[str, Path], name: str) -> list[Path]:
    """Return the `NAME-YEAR.NUMBER` files, newest release first."""
    pattern = re.compile(rf"{re.escape(name)}-([0-9]{{4}})\.([0-9]+)")
    matched = {stem: match for stem in files if (match := pattern.fullmatch(stem))}
    # Compared as numbers: `core-2026.10` is newer than `core-2026.9`.
    newest_first = sorted(matched, key=lambda stem: tuple(map(int, matched[stem].groups())), reverse=True)
    return [files[stem] for stem in newest_first]


def _read_profile(path: Path, ids: Sequence[str]) -> Profile:
    document = reader.read(path)
    problems = check_document("profile.v1", document) or tuple(_check_profile(path, document, ids))
    if problems:
        raise SourceError(problems)
    entry = document.value
    return Profile(
        name=entry["name"],
        title=entry["title"],
        frozen=entry["frozen"],
        rules=entry.get("rules", 1),
        cases=tuple(entry["cases"]),
        # Frozen profiles are not edited when a delivery is renamed.
        deliveries=tuple(map(get_current_name, entry["deliveries"])),
        faults=entry["faults"],
    )


def _check_profile(path: Path, document: reader.Document, ids: Sequence[str]) -> Iterator[Problem]:
    name = document.value["name"]
    if name != path.stem:
        message = f"`name` is `{name}`, but the file is `{path.name}`; they must match"
        yield document.problem(("name",), message)
    if name == NEXT_PROFILE:
        message = f"`{NEXT_PROFILE}` is reserved for cases that belong to no profile; choose another name"
        yield document.problem(("name",), message)
    rules = document.value.get("rules", 1)
    if rules > RULES:
        message = f"`rules` is {rules}, but this version of streamconform judges by rules {RULES}; upgrade it"
        yield document.problem(("rules",), message)
    known = frozenset(ids)
    first_lines: dict[str, int | None] = {}
    for i, id_ in enumerate(document.value["cases"]):
        value_path = ("cases", i)
        if id_ in first_lines:
            message = f"duplicate case `{id_}`, first listed on line {first_lines[id_]}"
            yield document.problem(value_path, message)
        elif id_ not in known:
            yield document.problem(value_path, f"no case `{id_}`{suggest_cases(id_, ids)}")
        first_lines.setdefault(id_, document.line(value_path))
