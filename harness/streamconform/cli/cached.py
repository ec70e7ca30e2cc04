"""The option `--cache` of verbs that keep what was downloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from streamconform import user_cache

F = TypeVar("F", bound=Callable[..., Any])


def cache_option(kept: str) -> Callable[[F], F]:
    """Return the option, handed over as `where`; `kept` are what lies in the folder."""
    return click.option(
        "--cache",
        "where",
        metavar="FOLDER",
        type=click.Path(file_okay=False),
        envvar=user_cache.VARIABLE,
        show_envvar=True,
        help=f"Folder that {kept} are kept in. [default: streamconform in the user's cache folder]",
    )
