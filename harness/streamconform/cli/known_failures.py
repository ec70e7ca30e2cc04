"""`--known-failures` and `--update-known-failures`: the files, from the options to their last lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from streamconform.cli.options import Selected
from streamconform.errors import Problem, ReportError, SourceError, UsageError
from streamconform.known_failures.context import Listed, unmatched
from streamconform.known_failures.file import amended, empty, parsed
from streamconform.known_failures.match import Finding
from streamconform.known_failures.model import KnownFailure, KnownFailures
from streamconform.known_failures.update import Amendment, relist
from streamconform.run.exits import Exit
from streamconform.run.session import Finished
from streamconform.suite.cassettes import write_atomically
from streamconform.yaml_text.reader import parse, read_bytes

F = TypeVar("F", bound=Callable[..., Any])
Missing = Callable[[Sequence[KnownFailure]], frozenset[int]]

FILTERS: Final = {
    "select": "-k",
    "api": "--api",
    "level": "--level",
    "last_failed": "--last-failed",
    "shard": "--shard",
    "exitfirst": "-x",
    "maxfail": "--maxfail",
}
"""What leaves trials out, so that nobody can say what becomes of the entries about them."""
NOT_WHOLE: Final = frozenset({Exit.INTERRUPTED, Exit.UNUSABLE, Exit.NOTHING})
FILE: Final = (".yaml", ".yml")
"""How the name of a file ends that is made where nothing is; anything else is a folder then."""
NO_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
"""What the name of a file that is made does not hold."""


@dataclass(frozen=True, slots=True)
class File:
    """A known-failures file as it was before the run."""

    path: Path
    data: bytes
    listed: Listed
    new: bool
    """Whether it is still to be made."""


def known_failures_options(command: F) -> F:
    """Add `--known-failures` and `--update-known-failures`."""
    command = click.option(
        "--update-known-failures",
        "update",
        is_flag=True,
        help="Make the files true of this run, then commit them.",
    )(command)
    return click.option(
        "--known-failures",
        type=click.Path(),
        metavar="PATH",
        multiple=True,
        help="Failures that are known: they do not fail the run, and entries that are not true any more do. "
        "A file, or a folder of *.yaml; a file may be about one implementation. Repeatable.",
    )(command)


def known_failures(chosen: dict[str, Any], impls: Sequence[str], missing: Missing) -> tuple[File, ...]:
    """Return the files that `chosen` names and that are about `impls`, as given to `--impl`.

    `missing` gives the numbers of those entries that match nothing that could be asked. Raises `SourceError`
    with every problem of every file, and `UsageError` where they are to be updated and nobody could say what
    goes into which.
    """
    update = bool(chosen.get("update"))
    named = [Path(each) for each in chosen.get("known_failures", ())]
    folders = [each for each in named if _is_folder(each, update=update)]
    read = [each for each in _read_all(named, folders, update=update) if _about(each[0], impls)]
    if update:
        read += _new(impls, [known for known, *_ in read], folders)
    gone = missing([entry for known, *_ in read for entry in known.entries])
    files, before = [], 0
    for known, path, data, new in read:
        own = frozenset(n for n in range(len(known.entries)) if n + before in gone)
        files.append(File(path, data, Listed(known, own, _today()), new))
        before += len(known.entries)
    return tuple(files)


def in_suite(found: Selected, seed: int) -> Missing:
    """Return what tells which entries match nothing in the full suite."""
    return lambda entries: unmatched(entries, found.catalog, found.trials, seed)


def must_update_whole(given: dict[str, Any], chosen: dict[str, Any]) -> None:
    """Raise `UsageError` where `--update-known-failures` would not see all that the files are about.

    What the config file leaves out, and a profile, is what the project is judged on: that is no filter.
    """
    if not given.get("update"):
        return
    if not chosen.get("known_failures"):
        raise UsageError("`--update-known-failures` needs the file: `--known-failures PATH`")
    filters = [option for key, option in FILTERS.items() if given.get(key)]
    if filters:
        raise UsageError(
            f"`--update-known-failures` does not go with `{'`, `'.join(filters)}`: it needs a whole run,"
            " because it could not tell what was left out from what is mended"
        )


def update(files: Sequence[File], finished: Finished, *, strict: bool) -> Iterator[str]:
    """Make the files true of the run, and yield what was done; raises `ReportError` and `SourceError`."""
    if finished.exit in NOT_WHOLE:
        names = ", ".join(each.listed.known.path for each in files if not each.new) or "everything"
        yield f"{names} is left as it was: the run did not get an answer to everything"
        return
    changes = _changes(files, finished, strict=strict)
    for file, findings, change in zip(files, finished.findings, changes, strict=True):
        known = file.listed.known
        if change.empty and file.new and known.implementation is not None:
            continue  # nothing fails: no file is needed
        if change.empty and not file.new:
            yield f"{known.path} is left as it was: it is true{_expired(findings)}"
            continue
        _write(file, amended(file.data, known.path, change))
        counts = (
            ("added", len(change.added)),
            ("removed", len(change.removed)),
            ("narrowed", len(change.narrowed)),
        )
        said = ", ".join(f"{count} {done}" for done, count in counts if count)
        todo = "; say in each `TODO` why it fails and where that is tracked" if change.added else ""
        yield f"{known.path}: {said or 'no entries'}{todo}{_expired(findings)}"


def _changes(files: Sequence[File], finished: Finished, *, strict: bool) -> list[Amendment]:
    """Return what becomes of each file; of an implementation, one takes what is new."""
    impls = [each.impl for each in finished.results.header.implementations]
    listed = [each.listed.known for each in files]
    homes = {_home(impl, listed) for impl in impls}
    kept = list(listed)
    changes: dict[int, Amendment] = {}
    for number in sorted(range(len(files)), key=lambda each: each in homes):
        known = listed[number]
        own = [each for each in finished.plain if known.about(impls[each.implementation])]
        beside = [
            other
            for n, other in enumerate(kept)
            if n != number and (known.implementation is None or other.about(known.implementation))
        ]
        change = relist(
            known,
            own,
            finished.findings[number],
            finished.checked,
            strict=strict,
            beside=beside if number in homes else None,
        )
        changes[number] = change
        kept[number] = replace(known, entries=change.applied(known.entries))
    return [changes[number] for number in range(len(files))]


def _home(impl: str, files: Sequence[KnownFailures]) -> int | None:
    """Return the number of the file that takes what is new of `impl`: first one about it alone."""
    own = [n for n, known in enumerate(files) if known.about(impl)]
    return min(own, key=lambda n: files[n].implementation is None, default=None)


def _new(impls: Sequence[str], read: Sequence[KnownFailures], folders: Sequence[Path]) -> Iterator[_Read]:
    """Yield the files that are made in the first folder for implementations that have none of their own.

    Raises `UsageError` where it cannot be told into which file something goes.
    """
    several = len(impls) > 1
    if len(set(impls)) < len(impls):
        raise UsageError("`--update-known-failures` takes each implementation once")
    for known in read:
        if several and known.implementation is None:
            raise UsageError(
                f"`--update-known-failures` takes one implementation, because `{known.path}` does not say"
                " which one it is about: give it the key `implementation`, or name a folder"
            )
    for impl in impls:
        if any(known.implementation == impl for known in read):
            continue
        if folders:
            path = folders[0] / f"{NO_NAME.sub('-', impl.removeprefix('peer:')).strip('-.')[:100]}.yaml"
            if path.exists():
                raise UsageError(f"`{_shown(path)}` is not about `{impl}`: mend its key `implementation`")
            yield KnownFailures(_shown(path), (), impl), path, empty(impl), True
        elif not read:
            raise UsageError(
                f"`--update-known-failures`: no file is about `{impl}`; name a folder, or one that is"
            )


_Read = tuple[KnownFailures, Path, bytes, bool]
"""A file, where it is, its bytes, and whether it is still to be made."""


def _read_all(named: Sequence[Path], folders: Sequence[Path], *, update: bool) -> list[_Read]:
    """Return what the files hold, each once; raises `SourceError` with all problems."""
    paths: dict[Path, Path] = {}
    for each in named:
        for path in sorted(each.glob("*.yaml")) if each in folders else (each,):
            paths.setdefault(path.resolve(), path)
    read: list[_Read] = []
    problems: list[Problem] = []
    for path in paths.values():
        new = update and not path.exists()
        try:
            data = empty() if new else read_bytes(path, _shown(path))
            read.append((parsed(parse(data, _shown(path))), path, data, new))
        except SourceError as error:
            problems += error.problems
    if problems:
        raise SourceError(tuple(problems))
    return read


def _is_folder(path: Path, *, update: bool) -> bool:
    return path.is_dir() or (update and not path.exists() and path.suffix not in FILE)


def _about(known: KnownFailures, impls: Sequence[str]) -> bool:
    return any(known.about(impl) for impl in impls)


def _write(file: File, made: bytes) -> None:
    """Write a file that is still what was read; raises `ReportError`."""
    shown = file.listed.known.path
    try:
        there = file.path.read_bytes() if file.path.exists() else None
        if there != (None if file.new else file.data):
            raise ReportError(f"`{shown}` was changed while the run went on; run again")
        file.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file.path.resolve(), made)  # a link stays one
    except OSError as error:
        raise ReportError(f"`{shown}` cannot be written: {error.strerror}") from error


def _expired(findings: Sequence[Finding]) -> str:
    count = sum(each.kind == "expired" for each in findings)
    return f"; {count} expired, which only you can decide on" if count else ""


def _shown(path: Path) -> str:
    """Return the path as messages call it: from the current folder, where it lies below that."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _today() -> date:
    """Return the day where the user is."""
    return datetime.now(UTC).astimezone().date()
