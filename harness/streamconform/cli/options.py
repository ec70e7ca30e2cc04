"""Options that several verbs share, and the settings they make together with the config file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from streamconform import config
from streamconform.errors import UsageError
from streamconform.model.case import Case
from streamconform.model.trial import DELIVERY_SETS, Trial
from streamconform.resources import bundled
from streamconform.suite.expand import expand
from streamconform.suite.load import Sources, load
from streamconform.suite.select import cases_meant, select_cases, select_trials
from streamconform.wire.apis import APIS

F = TypeVar("F", bound=Callable[..., Any])

MAX_WORKERS = 4
"""Programs started by default, at most: each is a process with the judged library in it."""


def sources_options(command: F) -> F:
    """Add `--specs` and `--cassettes`."""
    folder = click.Path(file_okay=False)
    command = click.option(
        "--cassettes", type=folder, help="Folder of cassettes. [default: the bundled ones]"
    )(command)
    return click.option("--specs", type=folder, help="Folder of specs. [default: the bundled ones]")(command)


def selection_options(command: F) -> F:
    """Add `-k`, `--api`, `--deliver` and `--seed`."""
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
            "--deliver",
            type=click.Choice(list(DELIVERY_SETS)),
            help="How many ways to hand over each stream. [default: standard]",
        ),
        click.option("--seed", type=click.IntRange(min=0), help="Seed of random cuts. [default: 0]"),
    )
    for option in reversed(options):
        command = option(command)
    return command


def settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the config file's settings, overridden by the options that were given."""
    loaded = config.load(Path.cwd())
    return loaded | {key: value for key, value in given.items() if value not in (None, ())}


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


def trials(chosen: dict[str, Any]) -> tuple[Trial, ...]:
    """Return the trials that `chosen` selects; raises `SourceError` and `SelectionError`."""
    cases = select_cases(load(sources(chosen)), chosen.get("api", ()))
    return of_cases(cases, chosen)


def of_cases(cases: Sequence[Case], chosen: dict[str, Any]) -> tuple[Trial, ...]:
    """Return the trials of `cases` under the deliveries that `chosen` names, filtered by its patterns."""
    name = chosen.get("deliver", "standard")
    if name not in DELIVERY_SETS:
        raise UsageError(f"`deliver` is `{name}`; known are {', '.join(DELIVERY_SETS)}")
    wanted, patterns = DELIVERY_SETS[name], tuple(chosen.get("select", ()))
    meant = cases_meant(cases, patterns, wanted)
    return select_trials(expand(meant, wanted, "bytes", chosen.get("seed", 0)), patterns)


def default_workers() -> int:
    """Return how many programs to start: one a core, at most `MAX_WORKERS`."""
    return max(1, min(os.cpu_count() or 1, MAX_WORKERS))
