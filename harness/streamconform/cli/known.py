"""`--known-failures` and `--update-known-failures`: the file, from the options to its last line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from streamconform.cli.options import Selected
from streamconform.errors import ReportError, UsageError
from streamconform.judge.relist import relist
from streamconform.run.exits import Exit
from streamconform.run.listed import Listed, unmatched
from streamconform.run.session import Finished
from streamconform.suite.cassettes import write_whole
from streamconform.suite.known_failures import EMPTY, amended, parsed
from streamconform.suite.yaml_text import parse, read_bytes

F = TypeVar("F", bound=Callable[..., Any])

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


@dataclass(frozen=True, slots=True)
class File:
    """A known-failures file as it was before the run."""

    path: Path
    data: bytes
    listed: Listed


def known_failures_options(command: F) -> F:
    """Add `--known-failures` and `--update-known-failures`."""
    command = click.option(
        "--update-known-failures",
        "update",
        is_flag=True,
        help="Make the file true of this run, then commit it.",
    )(command)
    return click.option(
        "--known-failures",
        type=click.Path(dir_okay=False),
        metavar="PATH",
        help="Failures that are known: they do not fail the run, and entries that are not true any more do.",
    )(command)


def known_failures(chosen: dict[str, Any], found: Selected) -> File | None:
    """Return the file that `chosen` names; raises `SourceError` with every problem of it."""
    named = chosen.get("known_failures")
    if named is None:
        return None
    path = Path(named)
    new = bool(chosen.get("update")) and not path.exists()
    data = EMPTY.encode() if new else read_bytes(path, _shown(path))
    known = parsed(parse(data, _shown(path)))
    missing = unmatched(known.entries, found.suite, found.trials, chosen.get("seed", 0))
    return File(path, data, Listed(known, missing, _today()))


def must_update_whole(given: dict[str, Any], chosen: dict[str, Any], implementations: int) -> None:
    """Raise `UsageError` where `--update-known-failures` would not see all that the file is about.

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
    if implementations > 1:
        raise UsageError("`--update-known-failures` takes one implementation; keep a file for each")


def update(file: File, finished: Finished, *, strict: bool) -> str:
    """Make the file true of the run, and return what was done; raises `ReportError` and `SourceError`."""
    known, shown = file.listed.known, file.listed.known.path
    if finished.exit in NOT_WHOLE:
        return f"{shown} is left as it was: the run did not get an answer to everything"
    change = relist(known, finished.plain, finished.findings, finished.checked, strict=strict)
    if change.empty and file.path.exists():
        return f"{shown} is left as it was: it is true" + _expired(finished)
    made = amended(file.data, shown, change)
    try:
        if file.path.exists() and file.path.read_bytes() != file.data:
            raise ReportError(f"`{shown}` was changed while the run went on; run again")
        file.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file.path.resolve(), made)  # a link stays one
    except OSError as error:
        raise ReportError(f"`{shown}` cannot be written: {error.strerror}") from error
    counts = (
        ("added", len(change.added)),
        ("removed", len(change.removed)),
        ("narrowed", len(change.narrowed)),
    )
    said = ", ".join(f"{count} {done}" for done, count in counts if count)
    todo = "; say in each `TODO` why it fails and where that is tracked" if change.added else ""
    return f"{shown}: {said or 'no entries'}{todo}" + _expired(finished)


def _expired(finished: Finished) -> str:
    count = sum(each.kind == "expired" for each in finished.findings)
    return f"; {count} expired, which only you can decide on" if count else ""


def _shown(path: Path) -> str:
    """Return the path as messages call it: from the current folder, where it lies below that."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _today() -> date:
    """Return the day where the user is."""
    return datetime.now(UTC).astimezone().date()
