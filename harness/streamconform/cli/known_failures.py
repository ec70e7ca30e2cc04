"""`--known-failures` and `--update-known-failures`: read the files before a run, and update them after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from streamconform.cli.options import Selection
from streamconform.errors import Problem, ReportError, SourceError, UsageError
from streamconform.known_failures.context import KnownFailuresContext, find_unmatched
from streamconform.known_failures.file import apply_amendment, create_empty, parse_document
from streamconform.known_failures.match import Coverage, OutdatedEntry
from streamconform.known_failures.model import Entry, KnownFailures
from streamconform.known_failures.update import Amendment, plan_update
from streamconform.resources import find_bundled
from streamconform.run.exits import Exit
from streamconform.run.session import FinishedRun
from streamconform.suite.cassettes import write_atomically
from streamconform.suite.profiles import find_release
from streamconform.suite.pulled import is_recorded
from streamconform.yaml_text.reader import parse, read_bytes

F = TypeVar("F", bound=Callable[..., Any])
FindUnmatched = Callable[[Sequence[Entry]], frozenset[int]]
"""Returns the positions of the entries that match no trial in the full suite."""

FILTERS: Final = {
    "select": "-k",
    "recorded": "--recorded",
    "level": "--level",
    "last_failed": "--last-failed",
    "shard": "--shard",
    "exitfirst": "-x",
    "maxfail": "--maxfail",
    "budget": "--budget",
}
"""Options that exclude trials; a run that uses one cannot check the entries for those trials.

`--api` is not one of them, because it excludes all trials of the other APIs, whose entries are left alone.
"""
DEFAULTS: Final[Mapping[str, Any]] = {"deliver": "standard", "level": "may"}
SCOPE: Final = ("profile", "level", "deliver", "faults", "input", "recorded", "select", "strict")
"""The settings on which the number of trials with a cause depends."""
INCOMPLETE_EXITS: Final = frozenset({Exit.INTERRUPTED, Exit.UNUSABLE, Exit.NOTHING})
FILE_SUFFIXES: Final = (".yaml", ".yml")
"""A path that does not exist is created as a file if it has one of these suffixes, otherwise as a folder."""
UNSAFE_IN_FILE_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class KnownFailuresFile:
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


@dataclass(frozen=True, slots=True)
class _ReadFile:
    """A file as read, before its entries are matched against the suite."""

    known: KnownFailures
    path: Path
    data: bytes
    is_new: bool


def known_failures_options(command: F) -> F:
    """Add `--known-failures` and `--update-known-failures`."""
    command = click.option(
        "--update-known-failures",
        "update",
        is_flag=True,
        help="Update the known-failures files to match this run.",
    )(command)
    return click.option(
        "--known-failures",
        type=click.Path(),
        metavar="PATH",
        multiple=True,
        help="File of known failures, or a folder of *.yaml files. Known failures do not fail the run;"
        " entries that are out of date do. A file may apply to one implementation. Repeatable.",
    )(command)


def read_known_failures(
    settings: dict[str, Any],
    impls: Sequence[str],
    find_unmatched: FindUnmatched,
    *,
    narrowed: bool = False,
) -> tuple[KnownFailuresFile, ...]:
    """Return the files that `settings` names and that apply to any of `impls`, the values of `--impl`.

    `narrowed` says that the patterns in `settings` are from the command line, so that they select a part of
    what the project runs. Raises `SourceError` with every problem in every file, and `UsageError` if the
    files are to be updated but it is unclear which file a failure belongs in, or if a file's numbers are for
    another selection.
    """
    update = bool(settings.get("update"))
    paths = [Path(name) for name in settings.get("known_failures", ())]
    folders = [path for path in paths if _is_folder(path, update=update)]
    files = [file for file in _read_files(paths, folders, update=update) if _is_about(file.known, impls)]
    if update:
        files += _make_new_files(impls, [file.known for file in files], folders)
    # All entries are matched at once: one pass over the suite's ids is enough.
    unmatched_entries = find_unmatched([entry for file in files for entry in file.known.entries])
    scope = find_scope(settings, narrowed=narrowed)
    result, offset = [], 0
    for file in files:
        count = len(file.known.entries)
        own_unmatched = frozenset(n for n in range(count) if n + offset in unmatched_entries)
        coverage = _find_coverage(file.known, settings, scope, narrowed=narrowed)
        listed = KnownFailuresContext(file.known, own_unmatched, _today(), coverage)
        result.append(KnownFailuresFile(file.path, file.data, listed, file.is_new, scope))
        offset += count
    if update:
        _require_scope(result)
    return tuple(result)


def find_scope(settings: Mapping[str, Any], *, narrowed: bool = False) -> dict[str, Any]:
    """Return the settings that decide how many trials have a cause, where they differ from the defaults."""
    values = {name: settings.get(name) for name in SCOPE if not (narrowed and name == "select")}
    if values["profile"]:
        # A release is frozen; `core` may be another one in a later version.
        specs = Path(settings["specs"]) if settings.get("specs") else find_bundled("specs")
        values["profile"] = find_release(specs, values["profile"]) or values["profile"]
    # Patterns on the command line never add trials, unless they name pulled recordings.
    if any(map(is_recorded, settings.get("select") or ())):
        values["recorded"] = True
    return {
        name: [*value] if isinstance(value, list | tuple) else value
        for name, value in values.items()
        if value and value != DEFAULTS.get(name)
    }


def _find_coverage(
    known: KnownFailures, settings: Mapping[str, Any], scope: Mapping[str, Any], *, narrowed: bool
) -> Coverage:
    """Return which of the trials that a file lists are in the run."""
    apis = frozenset(settings.get("api") or ()) or None
    # A file without entries for causes has no numbers yet.
    if (known.causes or known.scope is not None) and (known.scope or {}) != scope:
        return Coverage("other", apis)
    is_part = narrowed or settings.get("shard") or settings.get("last_failed")
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


def check_update_options(arguments: dict[str, Any], settings: dict[str, Any]) -> None:
    """Raise `UsageError` if `--update-known-failures` is used without a file or with a filter.

    Only filters on the command line count: those in the config file, and profiles, define what the project
    runs.
    """
    if not arguments.get("update"):
        return
    if not settings.get("known_failures"):
        raise UsageError("`--update-known-failures` needs a file: `--known-failures PATH`")
    filters = [option for key, option in FILTERS.items() if arguments.get(key)]
    if filters:
        raise UsageError(
            f"`--update-known-failures` cannot be used with `{'`, `'.join(filters)}`: it needs a full run,"
            " because it cannot tell a skipped failure from a fixed one"
        )


def update_known_failures(
    files: Sequence[KnownFailuresFile], finished: FinishedRun, *, strict: bool
) -> Iterator[str]:
    """Update the files to match the run, and yield messages. Raises `ReportError` and `SourceError`."""
    footer = finished.results.footer
    if finished.exit in INCOMPLETE_EXITS or footer is None or not footer.complete:
        yield "known-failures files are not updated, because the run is incomplete"
        return
    changes = _plan_changes(files, finished, strict=strict)
    for file, findings, change in zip(files, finished.outdated, changes, strict=True):
        known = file.listed.known
        if change.empty and file.is_new and known.implementation is not None:
            continue  # nothing fails, so no file is needed
        # A new file that the user named is written even if it has no entries, because the next run reads it.
        if change.empty and not file.is_new:
            yield f"{known.path}: up to date{_count_expired(findings)}"
            continue
        _write_file(file, apply_amendment(file.data, known.path, change))
        counts = (
            ("added", len(change.added)),
            ("changed", len(change.narrowed) + len(change.counted)),
            ("removed", len(change.removed)),
        )
        summary = ", ".join(f"{count} {action}" for action, count in counts if count)
        todo = "; replace each `TODO` with the reason and the issue" if change.added else ""
        yield f"{known.path}: {summary or 'no entries'}{todo}{_count_expired(findings)}"


def _plan_changes(
    files: Sequence[KnownFailuresFile], finished: FinishedRun, *, strict: bool
) -> list[Amendment]:
    """Return the change to each file; an implementation's new failures all go into one file.

    Files that get new failures are planned last, when it is known which failures the other files cover.
    """
    impls = [info.impl for info in finished.results.header.implementations]
    known_files = [file.listed.known for file in files]
    home_files = {_find_home_file(impl, known_files) for impl in impls}
    updated = list(known_files)
    changes: dict[int, Amendment] = {}
    for number in sorted(range(len(files)), key=lambda n: n in home_files):
        known = known_files[number]
        results = [result for result in finished.unsettled if known.applies_to(impls[result.implementation])]
        other_files = [
            other
            for n, other in enumerate(updated)
            if n != number and (known.implementation is None or other.applies_to(known.implementation))
        ]
        change = plan_update(
            known,
            results,
            finished.outdated[number],
            finished.checked_paths,
            strict=strict,
            beside=other_files if number in home_files else None,
            scope=files[number].scope,
            coverage=files[number].listed.coverage,
        )
        changes[number] = change
        updated[number] = replace(known, entries=change.apply(known.entries))
    return [changes[number] for number in range(len(files))]


def _find_home_file(impl: str, files: Sequence[KnownFailures]) -> int | None:
    """Return the index of the file that gets `impl`'s new failures, preferably one for `impl` alone."""
    candidates = [n for n, known in enumerate(files) if known.applies_to(impl)]
    return min(candidates, key=lambda n: files[n].implementation is None, default=None)


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
            data = create_empty() if is_new else read_bytes(path, name)
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


def _write_file(file: KnownFailuresFile, data: bytes) -> None:
    """Write `data`, unless the file was changed since it was read. Raises `ReportError`."""
    name = file.listed.known.path
    try:
        current = file.path.read_bytes() if file.path.exists() else None
        if current != (None if file.is_new else file.data):
            raise ReportError(f"`{name}` was changed during the run; run again")
        file.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file.path.resolve(), data)  # resolved, so that a symbolic link is kept
    except OSError as error:
        raise ReportError(f"`{name}` cannot be written: {error.strerror}") from error


def _count_expired(findings: Sequence[OutdatedEntry]) -> str:
    count = sum(finding.kind == "expired" for finding in findings)
    return f"; {count} expired (edit or remove by hand)" if count else ""


def _display_path(path: Path) -> str:
    """Return the path to show in messages: relative to the current folder if it is inside that folder."""
    current = Path.cwd()
    return str(path.relative_to(current)) if path.is_relative_to(current) else str(path)


def _today() -> date:
    """Return today's date in the user's time zone, which is the time zone of `expires`."""
    return datetime.now(UTC).astimezone().date()
