"""Read a citation, given an API's names for its parts.

Parsing is tolerant: a part of an unexpected type counts as missing, but nothing else is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streamconform_reference.outcome import Citation


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationFields:
    """The keys of an API's citations. The first key that has a value wins."""

    source: Sequence[str]
    title: Sequence[str] = ()
    quote: Sequence[str] = ()
    start: str = ""
    end: str = ""

    def read(self, data: Any) -> Citation:
        """Return the citation in `data`."""
        holder = data if isinstance(data, dict) else {}
        return Citation(
            source=_read_name(holder, self.source),
            title=_read_name(holder, self.title),
            quote=_read_name(holder, self.quote),
            start=_read_position(holder.get(self.start)),
            end=_read_position(holder.get(self.end)),
            data=data,
        )


def _read_name(holder: dict[str, Any], keys: Sequence[str]) -> str | None:
    """Return the first non-empty text under these keys; an integer counts as text."""
    values = (holder.get(key) for key in keys)
    names = (str(value) if type(value) is int else value for value in values)
    return next((name for name in names if isinstance(name, str) and name), None)


def _read_position(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
