"""An expected request: what a client must, must not and may send (`spec.v1.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamconform.model.leaf import Leaf


@dataclass(frozen=True, slots=True)
class Exactly:
    """Exactly this JSON value; objects have no further members."""

    value: Any


@dataclass(frozen=True, slots=True)
class JsonText:
    """JSON text that parses to this value, regardless of whitespace and key order."""

    value: Any


@dataclass(frozen=True, slots=True)
class SameAs:
    """The value at another path in the body, such as the id that the client gave to a result's call."""

    path: str


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with at least these members."""

    fields: Mapping[str, Wanted]


@dataclass(frozen=True, slots=True)
class Items:
    """A list of exactly these items."""

    items: tuple[Wanted, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """A value that meets at least one of these expectations."""

    options: tuple[Wanted, ...]
    why: str | None = None


Wanted = Leaf | Exactly | JsonText | SameAs | Fields | Items | OneOf
"""The expectation for one value of a body."""


@dataclass(frozen=True, slots=True)
class RequestExpectation:
    """The expected request; its body is compared in canonical form (`RequestForm.canonical`)."""

    must: Fields = field(default_factory=lambda: Fields({}))
    may: Fields = field(default_factory=lambda: Fields({}))
    """Like `must`, but differences are only recorded."""
    must_not: tuple[str, ...] = ()
    """Dotted paths that must not exist in the body; `*` matches any key or index."""
    headers: Mapping[str, Leaf] = field(default_factory=dict)
    """By lower-case name."""
    path: Leaf | None = None
    """The path of the URL."""
