"""Options that several commands share, and the function that merges them with the config file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import click

from streamconform import config, user_cache
from streamconform.adapters.connect import Connection, connect, connect_command
from streamconform.adapters.preflight import check_startable
from streamconform.adapters.program import START_SECONDS
from streamconform.apis import APIS
from streamconform.cli import commands, completion
from streamconform.errors import SelectionError, UsageError
from streamconform.model.case import LEVELS, AnyCase, Case, CaseHead
from streamconform.model.result import is_unexpected
from streamconform.model.trial import (
    DELIVERIES,
    DELIVERY_SETS,
    FAULT_SETS,
    FAULTS,
    SAMPLED,
    AnyTrial,
    FaultSet,
    Input,
    supported_inputs,
    update_id,
)
from streamconform.printable import escape_line
from streamconform.reports import HTML, STREAMED
from streamconform.resources import find_bundled
from streamconform.run.reading import read
from streamconform.run.results import Results
from streamconform.run.run_folders import RUNS, find_latest_results, resolve_results
from streamconform.suite.catalog import Catalog, read_catalog
from streamconform.suite.expand import expand
from streamconform.suite.load import Sources
from streamconform.suite.profiles import Profile, load_profile
from streamconform.suite.pulled import is_recorded
from streamconform.suite.select import (
    find_id,
    is_at_least,
    parse_shard,
    select_apis,
    select_ids,
    select_names,
    select_trials,
)

F = TypeVar("F", bound=Callable[..., Any])

MAX_NOTE: Final = 1000
"""Maximum characters of a note to print."""
MAX_DEFAULT_WORKERS: Final = 4
"""Upper limit on the default number of workers; each one is a process that loads the library under test."""
FAULT_CHOICES: Final = get_args(FaultSet)
INPUT_CHOICES: Final = get_args(Input)
CHOICES: Final = {
    "deliver": tuple(DELIVERY_SETS),
    "faults": FAULT_CHOICES,
    "level": LEVELS,
    "input": INPUT_CHOICES,
}
"""Allowed values for settings. click checks options; `merge_settings` checks the config file."""


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
        type=commands.Choice(INPUT_CHOICES),
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


def get_start_timeout(settings: Mapping[str, Any]) -> float:
    """Return the time limit until the greeting."""
    return float(settings.get("start_timeout", START_SECONDS))


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


def selection_options(command: F) -> F:
    """Add `-k`, `--api`, `--profile`, `--level`, `--deliver`, `--faults`, `--shard` and `--seed`."""
    options = (
        click.option(
            "-k",
            "--select",
            shell_complete=completion.complete_cases,
            multiple=True,
            metavar="PATTERN",
            help="Only trials that match: a glob on ids (* one component, ** any number), or a substring.",
        ),
        click.option(
            "--api", multiple=True, type=commands.Choice(list(APIS)), help="Only this API. Repeatable."
        ),
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
            type=commands.Choice(FAULT_CHOICES),
            help="Which faults to apply to each stream; `one` is one of each kind. "
            "[default: none with --deliver fast, one with standard, all with full]",
        ),
        click.option(
            "--recorded",
            is_flag=True,
            default=None,
            help="Only the cases based on recordings that other projects publish (docs/recorded.md); fetch "
            "those with `conform corpus pull all`. Without this option, they run only if -k names them: "
            "-k recorded-magentic.",
        ),
        click.option("--shard", metavar="K/N", help="Only part K of N of the cases."),
        click.option(
            "--seed", type=click.IntRange(min=0), help="Seed for the random chunk boundaries. [default: 0]"
        ),
    )
    # Reversed, because decorators are applied from the bottom up and `--help` keeps their order.
    for option in reversed(options):
        command = option(command)
    return command


def merge_settings(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the config file's settings, overridden by `arguments`, the command-line options."""
    settings = config.load_settings(Path.cwd())
    if arguments.get("profile"):
        # A profile has its own deliveries and faults, so those in the config file do not apply.
        settings = {key: value for key, value in settings.items() if key not in ("deliver", "faults")}
    # click passes None or () for an option that was not given; the config file's value applies.
    settings |= {key: value for key, value in arguments.items() if value not in (None, ())}
    for key, values in CHOICES.items():
        if settings.get(key, values[0]) not in values:
            raise UsageError(f"`{key}` is `{settings[key]}`; expected one of {', '.join(values)}")
    return settings


def find_sources(settings: dict[str, Any]) -> Sources:
    """Return the spec and cassette folders: configured, or `cassettes` next to the specs, or bundled."""
    specs, cassettes = settings.get("specs"), settings.get("cassettes")
    if specs and not cassettes:
        sibling = Path(specs).resolve().parent / "cassettes"
        cassettes = sibling if sibling.is_dir() else None
    return Sources(
        Path(specs) if specs else find_bundled("specs"),
        Path(cassettes) if cassettes else find_bundled("cassettes"),
        find_corpus() if _includes_recorded(settings) else None,
    )


def find_corpus() -> Path:
    """Return the folder of pulled recordings."""
    return user_cache.find_user_cache(None) / user_cache.CORPUS


def _includes_recorded(settings: dict[str, Any]) -> bool:
    return bool(settings.get("recorded")) or any(map(is_recorded, settings.get("select") or ()))


@dataclass(frozen=True, slots=True)
class Selection:
    """The catalog of the full suite, the selected trials, and the profile that selected them."""

    catalog: Catalog
    trials: tuple[AnyTrial, ...]
    profile: Profile | None = None

    def compute_digest(self) -> str:
        """Return a digest of the trial ids and of their cases' specs and bodies."""
        digest = hashlib.sha256("\n".join(trial.id for trial in self.trials).encode())
        cases = {trial.case.id: trial.case for trial in self.trials}
        for path in self.catalog.find_files(cases):
            digest.update(path.read_bytes())
        for case in cases.values():
            if isinstance(case, Case):
                digest.update(case.cassette.body)
        return digest.hexdigest()[:16]


def select(settings: dict[str, Any], ids: frozenset[str] | None = None) -> Selection:
    """Return the trials that `settings` select; with `ids`, only those trials, in any delivery or fault.

    Raises `SourceError`, and `SelectionError` if nothing is selected, unless a shard or `ids` is given.
    """
    sources = find_sources(settings)
    if ids is not None and any(map(is_recorded, ids)):
        sources = replace(sources, corpus=find_corpus())
    catalog = read_catalog(sources)
    profile = _find_profile(settings, catalog)
    deliveries, faults = select_deliveries(settings, profile) if ids is None else (tuple(DELIVERIES), "all")
    sampled = SAMPLED if deliveries == DELIVERY_SETS["standard"] else ()
    patterns, seed = tuple(settings.get("select", ())), settings.get("seed", 0)
    input_mode: Input | None = settings.get("input")
    level = settings.get("level", "may")
    # Reading and expanding cases is expensive, so those that cannot match are dropped before it.
    names = (*deliveries, *(FAULTS if faults != "none" else ()))
    case_ids = _select_case_ids(settings, catalog, profile, names)
    if ids is not None:
        ids = frozenset(map(update_id, ids))
        requested = {id_.partition("@")[0] for id_ in ids}
        case_ids = tuple(id_ for id_ in case_ids if id_ in requested)
    # If the whole suite is read, a file without cases is also an error.
    is_whole = not settings.get("api") and not patterns and case_ids == catalog.ids
    candidates = [
        case for case in catalog.load(None if is_whole else case_ids) if is_at_least(case.level, level)
    ]
    # Input mode http has all the trials of bytes, and more. An implementation's input mode is known only
    # after it has started, so a run expands the trials for http and then drops those that the implementation
    # cannot run.
    needed = select_names((*DELIVERIES, *FAULTS), patterns)
    expanded = expand(candidates, deliveries, "http", seed, faults, sampled, needed)
    feedable = (trial for trial in expanded if input_mode is None or input_mode in supported_inputs(trial))
    may_be_empty = settings.get("shard") is not None or ids is not None
    matching = select_trials(feedable, patterns, lenient=may_be_empty)
    selected = tuple(
        trial for trial in matching if is_at_least(trial.level, level) and (ids is None or trial.id in ids)
    )
    if not (selected or may_be_empty):
        raise SelectionError("--api, --profile, --level and --deliver leave no trials; relax one of them")
    return Selection(catalog, selected, profile)


def select_heads(settings: dict[str, Any]) -> tuple[CaseHead, ...]:
    """Return the heads of the cases that `--api`, `--profile`, `--level` and `--shard` select.

    Raises `SourceError`, and `SelectionError` if nothing is selected, unless a shard is given.
    """
    catalog = read_catalog(find_sources(settings))
    case_ids = _select_case_ids(settings, catalog, _find_profile(settings, catalog))
    level = settings.get("level", "may")
    heads = tuple(head for head in catalog.load_heads(case_ids) if is_at_least(head.level, level))
    if not (heads or settings.get("shard")):
        raise SelectionError("--api, --profile and --level leave no cases; relax one of them")
    return heads


def _find_profile(settings: dict[str, Any], catalog: Catalog) -> Profile | None:
    name = settings.get("profile")
    if name is None:
        return None
    ids = tuple(id_ for id_ in catalog.ids if not is_recorded(id_))  # profiles are lists of bundled streams
    return load_profile(catalog.sources.specs, name, ids)


def _select_case_ids(
    settings: dict[str, Any], catalog: Catalog, profile: Profile | None, deliveries: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the ids of the cases that may have a selected trial; `deliveries` includes the faults."""
    apis, patterns = settings.get("api", ()), tuple(settings.get("select", ()))
    try:
        return _filter_case_ids(catalog.list_ids(apis, patterns), settings, profile, deliveries)
    except SelectionError:
        # The pattern is wrong. The message lists the closest names, which may be in any file.
        return _filter_case_ids(catalog.ids, settings, profile, deliveries)


def _filter_case_ids(
    ids: tuple[str, ...], settings: dict[str, Any], profile: Profile | None, deliveries: Sequence[str]
) -> tuple[str, ...]:
    case_ids = select_apis(ids, settings.get("api", ()))
    if settings.get("recorded"):
        case_ids = tuple(id_ for id_ in case_ids if is_recorded(id_))
    if profile is not None:
        profile_ids = set(profile.cases)
        case_ids = tuple(id_ for id_ in case_ids if id_ in profile_ids)
    case_ids = select_ids(case_ids, tuple(settings.get("select", ())), deliveries)
    # Last, so that a pattern is not reported as wrong only because its cases are in another shard.
    shard_option = settings.get("shard")
    shard = parse_shard(shard_option) if shard_option else None
    return tuple(id_ for id_ in case_ids if shard is None or shard.includes(id_))


def select_deliveries(settings: dict[str, Any], profile: Profile | None) -> tuple[tuple[str, ...], FaultSet]:
    """Return the deliveries and the faults; each option overrides the profile's setting."""
    name = settings.get("deliver")
    deliveries = DELIVERY_SETS[name or "standard"]
    faults: FaultSet = FAULT_SETS[name or "standard"]
    if profile is not None and profile.deliveries is not None and name is None:
        deliveries = profile.deliveries
    if profile is not None and profile.faults is not None:
        faults = profile.faults
    return deliveries, settings.get("faults", faults)


def find_case(name: str, settings: dict[str, Any]) -> AnyCase:
    """Return the case whose id is or ends with `name`. Raises `SourceError` and `SelectionError`."""
    catalog = read_catalog(find_sources(settings | {"recorded": is_recorded(name)}))
    (case,) = catalog.load((_find_case_id(name, catalog),))
    if isinstance(case, Case) and case.unavailable is not None:
        raise SelectionError(f"the recording of `{case.id}` is not in {find_corpus()}; {case.unavailable}")
    return case


def _find_case_id(name: str, catalog: Catalog) -> str:
    try:
        return find_id(name, catalog.list_ids_ending(name.partition("@")[0]))
    except SelectionError:
        return find_id(name, catalog.ids)  # its message lists the closest names in all files


def find_results_path(settings: dict[str, Any]) -> Path | None:
    """Return the path that `--report jsonl=PATH` names; None if the results go to the run's own folder."""
    reports = (option.partition("=") for option in settings.get("report", ()))
    return next((Path(path) for kind, _, path in reports if kind == STREAMED), None)


def find_last_results_path(settings: dict[str, Any]) -> Path | None:
    """Return the path of the last run's results; None if there was no run."""
    path = find_results_path(settings)
    return path if path is not None and path.is_file() else find_latest_results()


def find_last_failures(settings: dict[str, Any]) -> frozenset[str]:
    """Return the ids of the trials that failed in the last run; empty if there was no run."""
    path = find_last_results_path(settings)
    if path is None:
        return frozenset()
    results = read(path)
    # If the last run was strict, its warnings failed it, even if this run is not strict.
    strict = bool(settings.get("strict") or results.header.selection.get("strict"))
    return frozenset(trial.id for trial in results.trials if is_unexpected(trial, strict=strict))


def select_for_run(settings: dict[str, Any]) -> tuple[Selection, str | None]:
    """Return the selection, and a note if `--last-failed` finds no failures and everything runs instead."""
    if not settings.get("last_failed"):
        return select(settings), None
    ids = find_last_failures(settings)
    selection = select(settings, ids) if ids else None
    if selection is not None and selection.trials:
        return selection, None
    reason = "none of the last run's failures is selected" if ids else "no trial failed in the last run"
    where = find_last_results_path(settings) or RUNS
    return select(settings), f"{reason} ({where}); running everything"


def count_default_workers() -> int:
    """Return the default number of workers: one per core, at most `MAX_DEFAULT_WORKERS`."""
    return max(1, min(os.cpu_count() or 1, MAX_DEFAULT_WORKERS))


def make_connections(settings: Mapping[str, Any]) -> tuple[Connection, ...]:
    """Return the connections to the implementations that `settings` names.

    Raises `UsageError`, and `ImplementationError` if one certainly cannot be started.
    """
    program = tuple(settings.get("program", ()))
    impls = settings.get("impl", ())
    if not program:
        return tuple(map(connect_startable, impls or ("reference",)))
    # A program after `--` replaces the config file's implementations, which are a list; options are a tuple.
    from_options = impls if isinstance(impls, tuple) else ()
    connection = connect_command(program)
    check_startable(connection)
    return (*map(connect_startable, from_options), connection)


def connect_startable(impl: str) -> Connection:
    """Return the connection for an `--impl` value. Raises the exceptions of `make_connections`."""
    connection = connect(impl)
    check_startable(connection)
    return connection
