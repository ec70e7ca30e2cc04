"""`--known-failures` and `--update-known-failures`: the options, and how files are updated after a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import click

from streamconform.errors import ReportError, UsageError
from streamconform.files import read_regular, write_atomically
from streamconform.known_failures.file import apply_amendment
from streamconform.known_failures.match import OutdatedEntry
from streamconform.known_failures.model import KnownFailures
from streamconform.known_failures.reading import KnownFailuresFile
from streamconform.known_failures.update import Amendment, plan_update
from streamconform.run.exits import Exit
from streamconform.run.session import FinishedRun

F = TypeVar("F", bound=Callable[..., Any])
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
INCOMPLETE_EXITS: Final = frozenset({Exit.INTERRUPTED, Exit.UNUSABLE, Exit.NOTHING})


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


def check_update_options(arguments: Mapping[str, Any], known_failures: Sequence[str]) -> None:
    """Raise `UsageError` if `--update-known-failures` is used without a file or with a filter.

    Only filters on the command line count: those in the config file, and profiles, define what the project
    runs.
    """
    if not arguments.get("update"):
        return
    if not known_failures:
        raise UsageError("`--update-known-failures` needs a file: `--known-failures PATH`")
    filters = [option for key, option in FILTERS.items() if arguments.get(key)]
    if filters:
        raise UsageError(
            f"`--update-known-failures` cannot be used with `{'`, `'.join(filters)}`: it needs a full run,"
            " because it cannot tell a skipped failure from a fixed one"
        )


def update_known_failures(files: Sequence[KnownFailuresFile], finished: FinishedRun, *, strict: bool) -> None:
    """Update the files to match the run, and print messages. Raises `ReportError` and `SourceError`."""
    for line in _update_files(files, finished, strict=strict):
        click.echo(line, err=True)


def _update_files(
    files: Sequence[KnownFailuresFile], finished: FinishedRun, *, strict: bool
) -> Iterator[str]:
    """Update the files, and yield a message for each."""
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


def _write_file(file: KnownFailuresFile, data: bytes) -> None:
    """Write `data`, unless the file was changed since it was read. Raises `ReportError`."""
    name = file.listed.known.path
    try:
        current = read_regular(file.path) if file.path.exists() else None
        if current != (None if file.is_new else file.data):
            raise ReportError(f"`{name}` was changed during the run; run again")
        file.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file.path.resolve(), data)  # resolved, so that a symbolic link is kept
    except OSError as error:
        raise ReportError(f"`{name}` cannot be written: {error.strerror}") from error


def _count_expired(findings: Sequence[OutdatedEntry]) -> str:
    count = sum(finding.kind == "expired" for finding in findings)
    return f"; {count} expired (edit or remove by hand)" if count else ""
