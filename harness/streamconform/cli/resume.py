"""`conform run --resume`: take the selection from the interrupted run, and compare the options with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from streamconform.cli import options
from streamconform.config import ProjectSettings
from streamconform.errors import UsageError
from streamconform.reports.summary import is_inconsistent
from streamconform.run.results import Results
from streamconform.suite.profiles import find_release
from streamconform.suite.selection import SelectionSettings, find_sources

SELECTING: Final = (
    "select",
    "api",
    "profile",
    "recorded",
    "level",
    "deliver",
    "faults",
    "input",
    "shard",
    "known_failures",
    "strict",
    "specs",
    "cassettes",
)
"""Settings that are taken from the interrupted run, regardless of the config file."""


def find_interrupted(report: Sequence[str]) -> Path:
    """Return the results of the last run. Raises `UsageError` if there are none."""
    path = options.find_last_results_path(report)
    if path is None:
        raise UsageError("nothing to resume: there are no results from an earlier run here")
    return path


def apply_interrupted(
    path: Path, earlier: Results, settings: ProjectSettings, arguments: Mapping[str, Any]
) -> ProjectSettings:
    """Return `settings` with the implementations and the selection of the interrupted run.

    Raises `UsageError` if the run was not interrupted, or if a command-line option differs from that run's.
    """
    header = earlier.header
    if earlier.footer is not None and earlier.footer.complete and not is_inconsistent(earlier):
        raise UsageError(f"nothing to resume: the run in `{path}` is complete")
    # The trials were selected from an earlier run's results, but the last run is now the interrupted one.
    if header.selection.get("last_failed"):
        raise UsageError("a run with `--last-failed` cannot be resumed: start a new run")
    for name in SELECTING:
        value = header.selection.get(name)
        given = _to_plain(arguments.get(name))
        if given is not None and given != value and not _is_release(given, value, settings.selection):
            raise UsageError(_describe_difference(name, value, given))
    impls = tuple(info.impl for info in header.implementations)
    if arguments.get("impl") or arguments.get("program"):
        given = tuple(connection.impl for connection in options.find_connections(settings, arguments))
        if given != impls:
            raise UsageError(_describe_difference("impl", ", ".join(impls), ", ".join(given)))
    if arguments.get("seed") not in (None, header.seed):
        raise UsageError(_describe_difference("seed", header.seed, arguments["seed"]))
    return replace(
        settings,
        selection=replace(SelectionSettings.from_values(header.selection), seed=header.seed),
        impl=impls,
        known_failures=tuple(header.selection.get("known_failures") or ()),
        strict=bool(header.selection.get("strict")),
    )


def add_interrupted(
    arguments: Mapping[str, Any], settings: ProjectSettings, resumed: ProjectSettings
) -> dict[str, Any]:
    """Return the arguments with which a new command would select the trials of the interrupted run.

    `settings` are those of the config file and of the command line, and `resumed` those that
    `apply_interrupted` returned. A profile that the config file sets is not added.
    """
    before, after = _list_values(settings), _list_values(resumed)
    added = {name: value for name, value in after.items() if value and value != before[name]}
    if settings.selection.profile:
        added.pop("profile", None)
    return {**arguments, **added, "program": ()}


def _list_values(settings: ProjectSettings) -> dict[str, Any]:
    """Return the settings that select trials, by the names of their options."""
    return asdict(settings.selection) | {"impl": settings.impl, "known_failures": settings.known_failures}


def _to_plain(value: Any) -> Any:
    """Return an option's value in the form that results use: a list instead of a tuple, None if not given."""
    return (list(value) or None) if isinstance(value, tuple) else value


def _is_release(given: Any, recorded: Any, settings: SelectionSettings) -> bool:
    """Return whether `recorded` is the newest release of the profile that `given` names, such as `core`."""
    if not (isinstance(given, str) and isinstance(recorded, str)):
        return False
    return find_release(find_sources(settings).specs, given) == recorded


def _describe_difference(name: str, recorded: Any, given: Any) -> str:
    return (
        f"cannot resume: `{name}` was {_quote(recorded)} in the interrupted run, but is {_quote(given)} now; "
        "leave the option out, or start a new run without `--resume`"
    )


def _quote(value: Any) -> str:
    if value is None:
        return "not set"
    return f"`{', '.join(map(str, value)) if isinstance(value, list) else value}`"
