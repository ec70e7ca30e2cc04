"""Read the known-failures files that apply to a run, and say which part of each file the run can check."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from streamconform.errors import Problem, SourceError, UsageError
from streamconform.known_failures.context import KnownFailuresContext, find_unmatched
from streamconform.known_failures.file import create_empty, parse_document
from streamconform.known_failures.match import Coverage
from streamconform.known_failures.model import Entry, KnownFailures
from streamconform.suite.profiles import find_release
from streamconform.suite.pulled import is_recorded
from streamconform.suite.selection import Selection, SelectionSettings, find_sources
from streamconform.yaml_text.reader import parse, read_file

FindUnmatched = Callable[[Sequence[Entry]], frozenset[int]]
"""Returns the positions of the entries that match no trial in the full suite."""

DEFAULTS: Final[Mapping[str, Any]] = {"deliver": "standard", "level": "may"}
SCOPE: Final = ("profile", "level", "deliver", "faults", "input", "recorded", "select", "strict")
"""The settings on which the number of trials with a cause depends."""
FILE_SUFFIXES: Final = (".yaml", ".yml")
"""A path that does not exist is created as a file if it has one of these suffixes, otherwise as a folder."""
UNSAFE_IN_FILE_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")


class KnownFailuresSettings(Struct, frozen=True):
    """Which files to read, and the part of the suite that the run covers."""

    paths: tuple[str, ...]
    """Files and folders, as they were given."""
    selection: SelectionSettings
    strict: bool = False
    narrowed: bool = False
    """Whether the patterns are from the command line, so that they select a part of what the project runs."""
    last_failed: bool = False
    update: bool = False
    """Whether the files will be updated; those that do not exist are created."""


class KnownFailuresFile(Struct, frozen=True):
    """A known-failures file as it was before the run."""

    path: Path
    data: bytes
    listed: KnownFailuresContext
    is_new: bool
    """Whether `--update-known-failures` creates the file."""
    scope: Mapping[str, Any]
    """The scope of the run."""

    def describe_other_scope(self) -> str:
        """Return a note if the run does not check the numbers of trials, because its scope is another."""
        if self.listed.coverage.counted != "other":
            return ""
        known = self.listed.known
        return (
            f"{known.path}: its `trials` are not checked: they are for {_format_scope(known.scope or {})},"
            f" but this run has {_format_scope(self.scope)}"
        )


class _ReadFile(Struct, frozen=True):
    """A file as read, before its entries are matched against the suite."""

    known: KnownFailures
    path: Path
    data: bytes
    is_new: bool


def read_known_failures(
    settings: KnownFailuresSettings, impls: Sequence[str], find_unmatched: FindUnmatched
) -> tuple[KnownFailuresFile, ...]:
    """Return the files that `settings` names and that apply to any of `impls`, the values of `--impl`.

    Raises `SourceError` with every problem in every file, and `UsageError` if the files are to be updated but
    it is unclear which file a failure belongs in, or if a file's numbers are for another selection.
    """
    update = settings.update
    paths = [Path(name) for name in settings.paths]
    folders = [path for path in paths if _is_folder(path, update=update)]
    files = [file for file in _read_files(paths, folders, update=update) if _is_about(file.known, impls)]
    if update:
        files += _make_new_files(impls, [file.known for file in files], folders)
    # All entries are matched at once: one pass over the suite's ids is enough.
    unmatched_entries = find_unmatched([entry for file in files for entry in file.known.entries])
    scope = find_scope(settings)
    result, offset = [], 0
    for file in files:
        count = len(file.known.entries)
        own_unmatched = frozenset(n for n in range(count) if n + offset in unmatched_entries)
        coverage = _find_coverage(file.known, settings, scope)
        listed = KnownFailuresContext(file.known, own_unmatched, _today(), coverage)
        result.append(KnownFailuresFile(file.path, file.data, listed, file.is_new, scope))
        offset += count
    if update:
        _require_scope(result)
    return tuple(result)


def list_known_failures(names: Sequence[str], impls: Sequence[str]) -> tuple[KnownFailures, ...]:
    """Return what the files and folders `names` say about any of `impls`. Raises `SourceError`."""
    paths = [Path(name) for name in names]
    files = _read_files(paths, [path for path in paths if path.is_dir()], update=False)
    return tuple(file.known for file in files if _is_about(file.known, impls))


def find_scope(settings: KnownFailuresSettings) -> dict[str, Any]:
    """Return the settings that decide how many trials have a cause, where they differ from the defaults."""
    selection = settings.selection
    values: dict[str, Any] = {
        name: settings.strict if name == "strict" else getattr(selection, name)
        for name in SCOPE
        if not (settings.narrowed and name == "select")
    }
    if selection.profile:
        # A release is frozen; `core` may be another one in a later version.
        specs = find_sources(selection).specs
        values["profile"] = find_release(specs, selection.profile) or selection.profile
    # Patterns on the command line never add trials, unless they name pulled recordings.
    if any(map(is_recorded, selection.select)):
        values["recorded"] = True
    return {
        name: [*value] if isinstance(value, list | tuple) else value
        for name, value in values.items()
        if value and value != DEFAULTS.get(name)
    }


def _find_coverage(
    known: KnownFailures, settings: KnownFailuresSettings, scope: Mapping[str, Any]
) -> Coverage:
    """Return which of the trials that a file lists are in the run."""
    apis = frozenset(settings.selection.api) or None
    # A file without entries for causes has no numbers yet.
    if (known.causes or known.scope is not None) and (known.scope or {}) != scope:
        return Coverage("other", apis)
    is_part = settings.narrowed or settings.selection.shard or settings.last_failed
    return Coverage("part" if is_part else "all", apis)


def _require_scope(files: Sequence[KnownFailuresFile]) -> None:
    """Raise `UsageError` for a file that cannot be updated, because its numbers are for another selection."""
    for file in files:
        if file.listed.coverage.counted == "other":
            raise UsageError(
                f"{file.describe_other_scope()}; use the same settings, or change `scope` in the file first"
            )


def _format_scope(scope: Mapping[str, Any]) -> str:
    """Return `deliver: full`, or words for the defaults."""
    values = (f"{name}: {', '.join(v) if isinstance(v, list) else v}" for name, v in scope.items())
    return ", ".join(f"`{value}`" for value in values) or "the default settings"


def make_unmatched_finder(selection: Selection, seed: int) -> FindUnmatched:
    """Return a function that finds the entries that match no trial in the full suite."""
    return lambda entries: find_unmatched(entries, selection.catalog, selection.trials, seed)


def _make_new_files(
    impls: Sequence[str], known_files: Sequence[KnownFailures], folders: Sequence[Path]
) -> Iterator[_ReadFile]:
    """Yield a new file, in the first folder, for each implementation that has no file.

    Raises `UsageError` if it is unclear which file an implementation's failures belong in.
    """
    if len(set(impls)) < len(impls):
        raise UsageError("`--update-known-failures` cannot be used if an implementation is given twice")
    for known in known_files:
        if len(impls) > 1 and known.implementation is None:
            raise UsageError(
                f"`--update-known-failures` with several implementations: `{known.path}` does not name its"
                " implementation; add the `implementation` key, or pass a folder"
            )
    for impl in impls:
        if any(known.implementation == impl for known in known_files):
            continue
        if folders:
            stem = UNSAFE_IN_FILE_NAME.sub("-", impl.removeprefix("peer:")).strip("-.")[:100]
            path = folders[0] / f"{stem}.yaml"
            name = _display_path(path)
            if path.exists():
                raise UsageError(f"`{name}` does not apply to `{impl}`; fix its `implementation` key")
            yield _ReadFile(KnownFailures(name, (), impl), path, create_empty(impl), is_new=True)
        elif not known_files:
            raise UsageError(
                f"`--update-known-failures`: no file applies only to `{impl}`; pass one, or a folder"
            )


def _read_files(paths: Sequence[Path], folders: Sequence[Path], *, update: bool) -> list[_ReadFile]:
    """Return the files without duplicates. Raises `SourceError` with the problems in all files."""
    unique: dict[Path, Path] = {}
    for path in paths:
        for file_path in sorted(path.glob("*.yaml")) if path in folders else (path,):
            unique.setdefault(file_path.resolve(), file_path)
    files: list[_ReadFile] = []
    problems: list[Problem] = []
    for path in unique.values():
        name = _display_path(path)
        is_new = update and not path.exists()
        try:
            data = create_empty() if is_new else read_file(path, name)
            files.append(_ReadFile(parse_document(parse(data, name)), path, data, is_new))
        except SourceError as error:
            problems += error.problems
    if problems:
        raise SourceError(tuple(problems))
    return files


def _is_folder(path: Path, *, update: bool) -> bool:
    return path.is_dir() or (update and not path.exists() and path.suffix not in FILE_SUFFIXES)


def _is_about(known: KnownFailures, impls: Sequence[str]) -> bool:
    return any(known.applies_to(impl) for impl in impls)


def _display_path(path: Path) -> str:
    """Return the path to show in messages: relative to the current folder if it is inside that folder."""
    current = Path.cwd()
    return str(path.relative_to(current)) if path.is_relative_to(current) else str(path)


def _today() -> date:
    """Return today's date in the user's time zone, which is the time zone of `expires`."""
    return datetime.now(UTC).astimezone().date()
