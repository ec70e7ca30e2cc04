"""The check with which every command ends: it accounts for everything that it received. Pure.

A command counts things where they arrive, and again where it is decided what becomes of them. If the numbers
differ, something was lost or counted twice in between, so the command's result cannot be trusted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from streamconform.errors import LostError
from streamconform.plural import format_count

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Balance:
    """The number of things that arrived, and what became of them."""

    noun: str
    arrival: str
    """How they arrived, such as `listed`."""
    arrived: int
    outcomes: Mapping[str, int]
    """The number of things for each outcome, such as `read`; each thing has exactly one."""

    def find_error(self) -> str | None:
        """Return the numbers, as in `3 exchanges read, but 2 imported, 0 skipped`; None if they add up."""
        if sum(self.outcomes.values()) == self.arrived:
            return None
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in self.outcomes.items())
        return f"{format_count(self.arrived, self.noun)} {self.arrival}, but {counts}"


def require_balance(*balances: Balance) -> None:
    """Raise `LostError` with the numbers unless all of them add up."""
    errors = [error for balance in balances if (error := balance.find_error()) is not None]
    if errors:
        raise LostError(f"{'; '.join(errors)}; this is a bug in streamconform")


def find_lost(planned: Collection[T], found: Iterable[T]) -> frozenset[T]:
    """Return what is missing from `found`, what it contains more than once, and what was not planned."""
    counts = Counter(found)
    repeated = {item for item, count in counts.items() if count > 1}
    return frozenset(repeated | (counts.keys() ^ frozenset(planned)))
