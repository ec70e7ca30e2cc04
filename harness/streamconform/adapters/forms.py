"""The forms of `--impl` that other packages provide, such as `peer:NAME`, found by entry point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from msgspec import Struct

GROUP: Final = "streamconform.forms"
"""The entry points: the word before the colon, and the `Form`."""


class Form(Struct, frozen=True):
    """What a word before the colon stands for."""

    build_command: Callable[[str], tuple[str, ...]]
    """Returns the program for a name. Raises `UsageError` for an unknown name."""
    list_names: Callable[[], Mapping[str, str]]
    """Returns the known names, each with the library functions that its program calls."""


@cache
def load_forms() -> Mapping[str, Form]:
    """Return the installed forms by their words."""
    from importlib.metadata import entry_points  # most values of `--impl` have no form

    return {entry.name: entry.load() for entry in entry_points(group=GROUP)}
