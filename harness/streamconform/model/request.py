"""An expected request: what a client must, must not and may send (`spec.v1.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from streamconform.model.leaf import Leaf


class Exactly(Struct, frozen=True):
    """Exactly this JSON value; objects have no further members."""

    value: Any


class JsonText(Struct, frozen=True):
    """JSON text that parses to this value, regardless of whitespace and key order."""

    value: Any


class SameAs(Struct, frozen=True):
    """The value at another path in the body, such as the id that the client gave to a result's call."""

    path: str


class Contains(Struct, frozen=True):
    """An object or a list that has this text in it, at any depth, such as a result under any key."""

    text: str


class Fields(Struct, frozen=True):
    """An object with at least these members."""

    fields: Mapping[str, Wanted]


class Items(Struct, frozen=True):
    """A list of exactly these items."""

    items: tuple[Wanted, ...]


class OneOf(Struct, frozen=True):
    """A value that meets at least one of these expectations."""

    options: tuple[Wanted, ...]
    why: str | None = None


Wanted = Leaf | Exactly | JsonText | SameAs | Contains | Fields | Items | OneOf
"""The expectation for one value of a body."""


class RequestExpectation(Struct, frozen=True):
    """The expected request; its body is compared in canonical form (`RequestForm.canonical`)."""

    must: Fields = Fields({})
    should: Fields = Fields({})
    """Like `must`, but differences are warnings."""
    may: Fields = Fields({})
    """Like `must`, but differences are only recorded."""
    must_not: tuple[str, ...] = ()
    """Dotted paths that must not exist in the body; `*` matches any key or index."""
    headers: Mapping[str, Leaf] = field(default_factory=dict)
    """By lower-case name."""
    path: Leaf | None = None
    """The path of the URL."""
    when: tuple[Alternative, ...] = ()
    """The first one whose conditions the request meets is expected too."""


class Alternative(Struct, frozen=True):
    """What is expected in addition, if the client sent these headers to this path."""

    headers: Mapping[str, Leaf]
    """By lower-case name."""
    path: Leaf | None
    expect: RequestExpectation
