"""Shell completion for cases, implementations, mutants and profiles. No spec is parsed.

Each function imports what it needs when it is called, because every command imports this module.
"""

from __future__ import annotations

from collections.abc import Iterable

import click


def complete_cases(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return case ids that start with `incomplete`, truncated after the next slash if there are several."""
    del ctx, parameter
    from streamconform.config import read_settings
    from streamconform.errors import ConformError
    from streamconform.suite.catalog import read_catalog
    from streamconform.suite.selection import find_sources

    try:
        ids = read_catalog(find_sources(read_settings({}).selection)).ids
    except ConformError:
        return []  # a shell cannot show the message
    return complete_paths(ids, incomplete)


def complete_paths(paths: Iterable[str], incomplete: str) -> list[str]:
    """Return paths that start with `incomplete`, truncated after the next slash if there are several."""
    matching = [path for path in paths if path.startswith(incomplete)]
    if len(matching) == 1:
        return matching
    ends = [path.find("/", len(incomplete)) + 1 for path in matching]
    return list(dict.fromkeys(path[:end] if end else path for path, end in zip(matching, ends, strict=True)))


def complete_impls(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the forms of `--impl`, or the names after `peer:` and `mutant:`."""
    form, colon, name = incomplete.partition(":")
    from streamconform.adapters.connect import list_words
    from streamconform.adapters.forms import load_forms

    if colon and form == "mutant":
        return [f"{form}:{each}" for each in complete_mutants(ctx, parameter, name)]
    if colon and form in load_forms():
        names = load_forms()[form].list_names()
        return [f"{form}:{each}" for each in names if each.startswith(name)]
    words = ("reference", *(f"{word}:" for word in list_words()))
    return [each for each in words if each.startswith(incomplete)]


def complete_mutants(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the mutant names that start with `incomplete`."""
    del ctx, parameter
    from streamconform_mutants import MUTANTS

    return [name for name in MUTANTS if name.startswith(incomplete)]


def complete_profiles(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the profile names that start with `incomplete`."""
    del ctx, parameter
    from streamconform.config import read_settings
    from streamconform.errors import ConformError
    from streamconform.suite.profiles import list_profile_names
    from streamconform.suite.selection import find_sources

    try:
        names = list_profile_names(find_sources(read_settings({}).selection).specs)
    except ConformError:
        return []
    return [name for name in names if name.startswith(incomplete)]
