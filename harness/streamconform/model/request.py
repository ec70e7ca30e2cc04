"""An expected request: what a client must, must not and may send for a conversation (`spec.v1.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamconform.model.leaf import Leaf


@dataclass(frozen=True, slots=True)
class Exactly:
    """This JSON value, with nothing beside it."""

    value: Any


@dataclass(frozen=True, slots=True)
class JsonText:
    """Text that is JSON of this value, however it is spaced and in whatever order its keys stand."""

    value: Any


@dataclass(frozen=True, slots=True)
class SameAs:
    """What stands at another place of the body: at a result the id that the client gave its call."""

    path: str


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with at least these members."""

    fields: Mapping[str, Wanted]


@dataclass(frozen=True, slots=True)
class Items:
    """A list of exactly these items."""

    items: tuple[Wanted, ...]


Wanted = Leaf | Exactly | JsonText | SameAs | Fields | Items
"""What is wanted at a place of a body."""


@dataclass(frozen=True, slots=True)
class RequestExpectation:
    """What is wanted of a request; a body is compared in its canonical form (`RequestForm.canonical`)."""

    must: Fields = field(default_factory=lambda: Fields({}))
    may: Fields = field(default_factory=lambda: Fields({}))
    """What is recorded where it differs, and fails nobody."""
    must_not: tuple[str, ...] = ()
    """Dotted paths of the body that must not be there; `*` is any key or index."""
    headers: Mapping[str, Leaf] = field(default_factory=dict)
    """By lower-case name."""
    path: Leaf | None = None
    """Of the address, behind the host."""
