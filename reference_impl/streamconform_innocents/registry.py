"""The decorator that registers innocents. Each module with innocents creates one registry, `innocents`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from .model import Change, Grant, Innocent

C = TypeVar("C", bound=Change)


class Registry:
    """The innocents of one module, by name, in source order."""

    def __init__(self) -> None:
        """Register nothing yet."""
        self.table: dict[str, Innocent] = {}

    def register(
        self,
        name: str,
        *grants: Grant,
        apis: Iterable[str] | None = None,
        without: Iterable[str] = (),
        may_warn: bool = False,
        description: str | None = None,
    ) -> Callable[[C], C]:
        """Return a decorator that registers a function which uses the freedom; see `Innocent`.

        The function's docstring describes the innocent, unless
        there is a `description`.
        """

        def decorate(change: C) -> C:
            assert name not in self.table, f"two innocents are named {name}"
            self.table[name] = Innocent(
                name=name,
                description=description or change.__doc__ or "",
                grants=grants,
                change=change,
                apis=None if apis is None else frozenset(apis),
                without=frozenset(without),
                may_warn=may_warn,
            )
            return change

        return decorate
