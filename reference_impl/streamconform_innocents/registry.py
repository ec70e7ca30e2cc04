"""The decorator that registers innocents. Each module with innocents creates one registry, `innocents`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from .model import Change, Grant, Innocent, RequestChange

C = TypeVar("C", bound=Change)
R = TypeVar("R", bound=RequestChange)


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

    def register_request(self, name: str, *grants: Grant, apis: Iterable[str]) -> Callable[[R], R]:
        """Return a decorator that registers a function which sends a request in another way."""

        def decorate(change: R) -> R:
            assert name not in self.table, f"two innocents are named {name}"
            self.table[name] = Innocent(
                name=name,
                description=change.__doc__ or "",
                grants=grants,
                change_request=change,
                apis=frozenset(apis),
            )
            return change

        return decorate
