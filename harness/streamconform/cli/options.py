"""Options that several commands share, and what `--last-failed`, `--report` and `--impl` mean for a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from streamconform import user_cache
from streamconform.adapters.build import run_build
from streamconform.adapters.connect import Connection, connect_command
from streamconform.adapters.preflight import make_connections
from streamconform.adapters.program import START_SECONDS
from streamconform.apis import APIS
from streamconform.cli import commands, completion
from streamconform.config import CHOICES, ProjectSettings
from streamconform.errors import UsageError
from streamconform.model.case import LEVELS
from streamconform.model.result import is_unexpected
from streamconform.model.trial import DELIVERY_SETS
from streamconform.printable import escape_line
from streamconform.reports import HTML, STREAMED
from streamconform.run.reading import read
from streamconform.run.results import Results
from streamconform.run.run_folders import RUNS, find_latest_results, resolve_results
from streamconform.suite.selection import Selection, select

F = TypeVar("F", bound=Callable[..., Any])

MAX_NOTE: Final = 1000
"""Maximum characters of a note to print."""


def last_failed_option(command: F) -> F:
    """Add `--last-failed`."""
    return click.option(
        "--lf", "--last-failed", "last_failed", is_flag=True, help="Only trials that failed in the last run."
    )(command)


def baseline_option(command: F) -> F:
    """Add `--baseline`."""
    return click.option(
        "--baseline",
        metavar="RESULTS",
        help="Results of an earlier run: the html report lists what is new, fixed and still failing.",
    )(command)


def durations_option(command: F) -> F:
    """Add `--durations`."""
    return click.option(
        "--durations",
        type=click.IntRange(min=0),
        metavar="N",
        help="List the N slowest trials at the end; 0 lists all.",
    )(command)


def cache_option(contents: str) -> Callable[[F], F]:
    """Return the option `--cache`, passed as `where`; `contents` says what the folder contains."""
    return click.option(
        "--cache",
        "where",
        metavar="FOLDER",
        type=click.Path(file_okay=False),
        envvar=user_cache.VARIABLE,
        show_envvar=True,
        help=f"Folder for {contents}. [default: streamconform in the user's cache folder]",
    )


def read_baseline(path: str | None, kinds: Iterable[str]) -> Results | None:
    """Return the `--baseline` results, if any. Raises `UsageError` if no report in `kinds` uses them."""
    if path is None:
        return None
    if HTML not in kinds:
        raise UsageError("`--baseline` needs an html report; use `conform diff` to compare results as text")
    return read(resolve_results(path))


def input_option(command: F) -> F:
    """Add `--input`."""
    return click.option(
        "--input",
        type=commands.Choice(CHOICES["input"]),
        help="Input mode: all chunks at once (bytes), chunk by chunk (push), or from a local server that "
        "replays the provider (http). [default: the first of the adapter's `inputs`]",
    )(command)


def start_timeout_option(command: F) -> F:
    """Add `--start-timeout`."""
    return click.option(
        "--start-timeout",
        type=click.FloatRange(min=0, min_open=True),
        help="Timeout until the greeting, in seconds; time in which the program or its children use CPU "
        f"does not count. [default: {START_SECONDS:g}]",
    )(command)


def print_note(message: str) -> None:
    """Print `message` to stderr."""
    click.echo(escape_line(message, MAX_NOTE), err=True)


def sources_options(command: F) -> F:
    """Add `--specs` and `--cassettes`."""
    folder = click.Path(file_okay=False)
    command = click.option(
        "--cassettes", type=folder, help="Folder of cassettes. [default: the bundled ones]"
    )(command)
    return click.option("--specs", type=folder, help="Folder of specs. [default: the bundled ones]")(command)


def server_options(command: F) -> F:
    """Add the options for requests to a live server, other than its URL: `--key-env` and `--header`."""
    command = click.option(
        "--key-env",
        metavar="VAR",
        help="Environment variable with the key. [default: the provider's usual one]",
    )(command)
    return click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Additional header to send. Repeatable.",
    )(command)


def proxy_options(command: F) -> F:
    """Add the options for requests to a proxy under test: `--key-env` and `--header`."""
    command = click.option(
        "--key-env",
        metavar="VAR",
        help="Environment variable with the key for proxy:URL; the key is never stored.",
    )(command)
    return click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Additional header to send to proxy:URL. Repeatable; the value is never stored.",
    )(command)


SELECTION_OPTIONS: Final = (
    click.option(
        "-k",
        "--select",
        shell_complete=completion.complete_cases,
        multiple=True,
        metavar="PATTERN",
        help="Only trials that match: a glob on ids (* one component, ** any number), or a substring.",
    ),
    click.option("--api", multiple=True, type=commands.Choice(list(APIS)), help="Only this API. Repeatable."),
    click.option(
        "--profile",
        shell_complete=completion.complete_profiles,
        metavar="NAME",
        help="Run only a profile's cases: `core` covers the most serious bugs of every API and takes "
        "less than a minute for most clients. A profile is frozen; `core` is its newest release, such as "
        "`core-2026.2`. `next` runs the cases in no profile.",
    ),
    click.option(
        "--level",
        type=commands.Choice(LEVELS),
        help="Only trials at this level or stricter. [default: may]",
    ),
    click.option(
        "--deliver",
        type=commands.Choice(list(DELIVERY_SETS)),
        help="Which deliveries of each stream to run. [default: standard]",
    ),
    click.option(
        "--faults",
        type=commands.Choice(CHOICES["faults"]),
        help="Which faults to apply to each stream; `one` is one of each kind. "
        "[default: none with --deliver fast and variants, one with standard, all with full]",
    ),
    click.option(
        "--recorded",
        is_flag=True,
        default=None,
        help="Only the cases based on recordings that other projects publish (docs/recorded.md). Without "
        "this option, they run only if -k names them: -k recorded-magentic.",
    ),
    click.option("--shard", metavar="K/N", help="Only part K of N of the cases."),
    click.option(
        "--seed", type=click.IntRange(min=0), help="Seed for the random chunk boundaries. [default: 0]"
    ),
)


def selection_options(command: F) -> F:
    """Add the options that select trials, from `-k` to `--seed`."""
    # Reversed, because decorators are applied from the bottom up and `--help` keeps their order.
    for option in reversed(SELECTION_OPTIONS):
        command = option(command)
    return command


def failure_limit_options(command: F) -> F:
    """Add `-x` and `--maxfail`."""
    maxfail = click.option("--maxfail", type=click.IntRange(min=1), help="Stop after this many failures.")
    return click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first failure.")(
        maxfail(command)
    )


def get_failure_limit(*, exitfirst: bool, maxfail: int | None) -> int:
    """Return the number of failures after which a run stops; 0 for no limit."""
    return 1 if exitfirst else maxfail or 0


def find_results_path(report: Sequence[str]) -> Path | None:
    """Return the path that `--report jsonl=PATH` names; None if the results go to the run's own folder."""
    parts = (option.partition("=") for option in report)
    return next((Path(path) for kind, _, path in parts if kind == STREAMED), None)


def find_last_results_path(report: Sequence[str]) -> Path | None:
    """Return the path of the last run's results; None if there was no run."""
    path = find_results_path(report)
    return path if path is not None and path.is_file() else find_latest_results()


def find_last_failures(settings: ProjectSettings) -> frozenset[str]:
    """Return the ids of the trials that failed in the last run; empty if there was no run."""
    path = find_last_results_path(settings.report)
    if path is None:
        return frozenset()
    results = read(path)
    # If the last run was strict, its warnings failed it, even if this run is not strict.
    strict = settings.strict or bool(results.header.selection.get("strict"))
    return frozenset(trial.id for trial in results.trials if is_unexpected(trial, strict=strict))


def select_for_run(settings: ProjectSettings, *, last_failed: bool) -> tuple[Selection, str | None]:
    """Return the selection, and a note if `--last-failed` finds no failures and everything runs instead."""
    if not last_failed:
        return select(settings.selection), None
    ids = find_last_failures(settings)
    selection = select(settings.selection, ids) if ids else None
    if selection is not None and selection.trials:
        return selection, None
    reason = "none of the last run's failures is selected" if ids else "no trial failed in the last run"
    where = find_last_results_path(settings.report) or RUNS
    return select(settings.selection), f"{reason} ({where}); running everything"


def find_connections(settings: ProjectSettings, arguments: Mapping[str, Any]) -> tuple[Connection, ...]:
    """Return the connections to the implementations of a run, after the build.

    Raises the exceptions of `make_connections` and of `run_build`.
    """
    program = arguments.get("program") or ()
    # A program after `--` replaces the config file's implementations, but not those of `--impl`.
    impls = arguments["impl"] if program else settings.impl
    run_build(settings.build, (*impls, connect_command(program).impl), print_note)
    return make_connections(impls, program)
