"""Remember the last few values that were made for a case. Pure, apart from what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from streamconform.model.case import Case

_Value = TypeVar("_Value")


class Recent(Generic[_Value]):
    """The last `size` values, by case and key. Cases are compared by identity, because bodies are long."""

    def __init__(self, size: int) -> None:
        """Remember nothing yet."""
        self._size = size
        # By the identity of a case, which the entry keeps alive.
        self._entries: dict[tuple[int, Hashable], tuple[Case, _Value]] = {}

    def get(self, case: Case, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """Return the value for `case` and `key`, which `make` makes if it is not remembered."""
        entry = self._entries.get((id(case), key))
        if entry is None:
            entry = self._entries[id(case), key] = (case, make())
            # A copy of the keys, because another thread may do the same.
            for oldest in list(self._entries)[: -self._size]:
                self._entries.pop(oldest, None)
        return entry[1]
