"""Options that several verbs share, and the settings they make together with the config file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import click

from streamconform import config
from streamconform.apis import APIS
from streamconform.errors import SelectionError, UsageError
from streamconform.model.case import LEVELS, AnyCase
from streamconform.model.trial import (
    DELIVERIES,
    DELIVERY_SETS,
    FAULT_SETS,
    FAULTS,
    AnyTrial,
    FaultSet,
    Input,
    inputs,
)
from streamconform.reports import HTML, STREAMED
from streamconform.resources import bundled
from streamconform.run.pool import is_unexpected
from streamconform.run.reading import read
from streamconform.run.results import Results
from streamconform.suite.catalog import Catalog, read_catalog
from streamconform.suite.expand import expand
from streamconform.suite.load import Sources
from streamconform.suite.profiles import Profile, load_profile
from streamconform.suite.select import (
    find_id,
    is_at_least,
    parse_shard,
    select_apis,
    select_ids,
    select_trials,
)

F = TypeVar("F", bound=Callable[..., Any])

RESULTS: Final = Path(".conform") / "results.jsonl"
"""Where results go that nobody asked for elsewhere."""
MAX_WORKERS: Final = 4
"""Programs started by default, at most: each is a process with the judged library in it."""
FAULT_CHOICES: Final = get_args(FaultSet)
INPUT_CHOICES: Final = get_args(Input)
CHOICES: Final = {
    "deliver": tuple(DELIVERY_SETS),
    "faults": FAULT_CHOICES,
    "level": LEVELS,
    "input": INPUT_CHOICES,
}
"""What a setting may be; of an option click says so, of a key in the config file we do."""


def last_failed_option(command: F) -> F:
    """Add `--last-failed`."""
    return click.option(
        "--lf", "--last-failed", "last_failed", is_flag=True, help="Only what was unexpected in the last run."
    )(command)


def baseline_option(command: F) -> F:
    """Add `--baseline`."""
    return click.option(
        "--baseline",
        metavar="RESULTS",
        help="Results of an earlier run: the html report says what is new, fixed and still failing.",
    )(command)


def baseline(path: str | None, kinds: Iterable[str]) -> Results | None:
    """Return the results of `--baseline`, if any; raises `UsageError` where none of `kinds` tells of them."""
    if path is None:
        return None
    if HTML not in kinds:
        raise UsageError("`--baseline` is for the html report; `conform diff` compares results in words")
    return read(Path(path))


def input_option(command: F) -> F:
    """Add `--input`."""
    return click.option(
        "--input",
        type=click.Choice(INPUT_CHOICES),
        help="How implementations are fed: the bytes at once, chunk by chunk, or by a server that stands for "
        "the provider. [default: what each names first in its `inputs`]",
    )(command)


def sources_options(command: F) -> F:
    """Add `--specs` and `--cassettes`."""
    folder = click.Path(file_okay=False)
    command = click.option(
        "--cassettes", type=folder, help="Folder of cassettes. [default: the bundled ones]"
    )(command)
    return click.option("--specs", type=folder, help="Folder of specs. [default: the bundled ones]")(command)


def selection_options(command: F) -> F:
    """Add `-k`, `--api`, `--profile`, `--level`, `--deliver`, `--faults`, `--shard` and `--seed`."""
    options = (
        click.option(
            "-k",
            "--select",
            multiple=True,
            metavar="PATTERN",
            help="Only trials that match: a glob on ids (* one component, ** any number), or a word.",
        ),
        click.option(
            "--api", multiple=True, type=click.Choice(list(APIS)), help="Only this api. Repeatable."
        ),
        click.option(
            "--profile",
            metavar="NAME",
            help="Only the cases of a profile, in its deliveries and faults; next: what none lists.",
        ),
        click.option(
            "--level", type=click.Choice(LEVELS), help="Only trials at least as strict. [default: may]"
        ),
        click.option(
            "--deliver",
            type=click.Choice(list(DELIVERY_SETS)),
            help="How many ways to hand over each stream. [default: standard]",
        ),
        click.option(
            "--faults",
            type=click.Choice(FAULT_CHOICES),
            help="How many ways to break each stream; one is one of each kind. "
            "[default: none with --deliver fast, one with standard, all with full]",
        ),
        click.option("--shard", metavar="K/N", help="Only the K-th of N parts of the cases."),
        click.option("--seed", type=click.IntRange(min=0), help="Seed of random cuts. [default: 0]"),
    )
    for option in reversed(options):
        command = option(command)
    return command


def settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the config file's settings, overridden by the options that were given.

    A profile that was asked for brings its own deliveries and faults along: those of the config file, which
    were not written for it, do not count then.
    """
    loaded = config.load(Path.cwd())
    if given.get("profile"):
        loaded = {key: value for key, value in loaded.items() if key not in ("deliver", "faults")}
    chosen = loaded | {key: value for key, value in given.items() if value not in (None, ())}
    for key, values in CHOICES.items():
        if chosen.get(key, values[0]) not in values:
            raise UsageError(f"`{key}` is `{chosen[key]}`; known are {', '.join(values)}")
    return chosen


def sources(chosen: dict[str, Any]) -> Sources:
    """Return where specs and cassettes are read from."""
    specs, cassettes = chosen.get("specs"), chosen.get("cassettes")
    if specs and not cassettes:
        beside = Path(specs).resolve().parent / "cassettes"
        cassettes = beside if beside.is_dir() else None
    return Sources(
        Path(specs) if specs else bundled("specs"),
        Path(cassettes) if cassettes else bundled("cassettes"),
    )


@dataclass(frozen=True, slots=True)
class Selected:
    """The trials that were selected, and the catalog of the full suite."""

    catalog: Catalog
    trials: tuple[AnyTrial, ...]


def trials(chosen: dict[str, Any]) -> tuple[AnyTrial, ...]:
    """Return the trials that `chosen` selects; raises `SourceError` and `SelectionError`."""
    return selected(chosen).trials


def selected(chosen: dict[str, Any], ids: frozenset[str] | None = None) -> Selected:
    """Return what `chosen` selects; with `ids` only trials of these, in whatever way they are handed over.

    Raises `SourceError`, and `SelectionError` where nothing is left; what is left of a shard or of `ids`
    may be nothing.
    """
    where = sources(chosen)
    catalog = read_catalog(where)
    case_ids = select_apis(catalog.ids, chosen.get("api", ()))
    name = chosen.get("profile")
    listed = None if name is None else load_profile(where.specs, name, catalog.ids)
    if listed is not None:
        case_ids = tuple(id_ for id_ in case_ids if id_ in set(listed.cases))
    patterns, seed = tuple(chosen.get("select", ())), chosen.get("seed", 0)
    given: Input | None = chosen.get("input")
    deliveries, faults = handed_over(chosen, listed) if ids is None else (tuple(DELIVERIES), "all")
    case_ids = select_ids(case_ids, patterns, (*deliveries, *(FAULTS if faults != "none" else ())))
    level, part = chosen.get("level", "may"), chosen.get("shard")
    own = parse_shard(part) if part else None
    named = None if ids is None else {id_.partition("@")[0] for id_ in ids}
    case_ids = tuple(
        id_ for id_ in case_ids if (own is None or own.includes(id_)) and (named is None or id_ in named)
    )
    wanted = [
        case
        for case in catalog.load(None if case_ids == catalog.ids else case_ids)
        if is_at_least(case.level, level)
    ]
    # over HTTP there are more of them than over bytes; a run asks of each implementation what it can be fed
    every = expand(wanted, deliveries, "http", seed, faults)
    made = (each for each in every if given is None or given in inputs(each))
    lenient = own is not None or ids is not None
    found = select_trials(made, patterns, lenient=lenient)
    left = tuple(each for each in found if is_at_least(each.level, level) and (ids is None or each.id in ids))
    if not (left or lenient):
        raise SelectionError("no trial is left of what was selected by api, profile, level and deliveries")
    return Selected(catalog, left)


def handed_over(chosen: dict[str, Any], listed: Profile | None) -> tuple[tuple[str, ...], FaultSet]:
    """Return the deliveries and the faults: an option wins over the profile, and each stands for itself."""
    name = chosen.get("deliver")
    deliveries = DELIVERY_SETS[name or "standard"]
    faults: FaultSet = FAULT_SETS[name or "standard"]
    if listed is not None and listed.deliveries is not None and name is None:
        deliveries = listed.deliveries
    if listed is not None and listed.faults is not None:
        faults = listed.faults
    return deliveries, chosen.get("faults", faults)


def find_case(name: str, chosen: dict[str, Any]) -> AnyCase:
    """Return the case `name`, an id or the end of one; raises `SourceError` and `SelectionError`."""
    catalog = read_catalog(sources(chosen))
    (case,) = catalog.load((find_id(name, catalog.ids),))
    return case


def results_path(chosen: dict[str, Any]) -> Path:
    """Return where the results of a run go, and those of the last one are."""
    named = (each.partition("=") for each in chosen.get("report", ()))
    return next((Path(path) for kind, _, path in named if kind == STREAMED), RESULTS)


def unexpected_last(chosen: dict[str, Any]) -> frozenset[str]:
    """Return the ids of the trials that were unexpected in the last run; none where there was no run."""
    path = results_path(chosen)
    if not path.is_file():
        return frozenset()
    last = read(path)
    strict = bool(chosen.get("strict") or last.header.selection.get("strict"))
    return frozenset(each.id for each in last.trials if is_unexpected(each, strict=strict))


def rerun(chosen: dict[str, Any]) -> tuple[Selected, str | None]:
    """Return what is selected, under `--last-failed` only what was unexpected, and what to say of that."""
    if not chosen.get("last_failed"):
        return selected(chosen), None
    ids = unexpected_last(chosen)
    again = selected(chosen, ids) if ids else None
    if again is not None and again.trials:
        return again, None
    why = "none of the trials that failed last is selected" if ids else "no trial failed in the last run"
    return selected(chosen), f"{why} ({results_path(chosen)}): everything runs"


def default_workers() -> int:
    """Return how many programs to start: one a core, at most `MAX_WORKERS`."""
    return max(1, min(os.cpu_count() or 1, MAX_WORKERS))
